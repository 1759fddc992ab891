//! From properties as written to a typed, valid workload.

use std::{str::FromStr, time::Duration};

use super::{
    ClientSettings, Properties, Property, PropertyError, WithoutEffect, YcsbRun,
    known::{Meaning, meaning, nearest},
};
use crate::{
    CoreWorkload, FieldLength, InsertOrder, RequestDistribution, ScanDistribution,
    distributions::Histogram,
};

pub(super) fn resolve(
    properties: &Properties,
    histogram: Option<&str>,
) -> Result<YcsbRun, PropertyError> {
    let without_effect = sort_out(properties)?;
    refuse_what_is_not_done(properties)?;
    let workload = workload(properties, histogram)?;
    workload.validate()?;
    Ok(YcsbRun { workload, client: client(properties)?, without_effect })
}

/// Refuses unknown properties and lists those without effect.
fn sort_out(properties: &Properties) -> Result<Vec<WithoutEffect>, PropertyError> {
    let mut without_effect = Vec::new();
    for property in properties.in_force() {
        match meaning(&property.name) {
            Some(Meaning::Effective) => {}
            Some(Meaning::WithoutEffect(reason)) => {
                without_effect.push(WithoutEffect { property: property.clone(), reason });
            }
            None => {
                return Err(PropertyError::Unknown {
                    name: property.name.clone(),
                    origin: property.origin.clone(),
                    nearest: nearest(&property.name),
                });
            }
        }
        let reason = match property.name.as_str() {
            "workload" => "the core workload is the one that Assay has",
            "readallfieldsbyname" => "every system asks for all fields in its own best way",
            "core_workload_insertion_retry_limit" => "an insert is never retried",
            _ => continue,
        };
        without_effect.push(WithoutEffect { property: property.clone(), reason });
    }
    Ok(without_effect)
}

fn refuse_what_is_not_done(properties: &Properties) -> Result<(), PropertyError> {
    if let Some(property) = properties.get("core_workload_insertion_retry_limit")
        && number::<i64>(property, "a whole number")? > 0
    {
        return Err(unsupported(
            property,
            "a retry could insert a record twice and would hide the failure; Assay counts failed \
             inserts instead: remove the property",
        ));
    }
    if let Some(property) = properties.get("workload") {
        let class = property.value.trim();
        let name = class.rsplit('.').next().unwrap_or(class);
        if name != "CoreWorkload" && name != "core" {
            return Err(unsupported(
                property,
                "Assay reads the properties of site.ycsb.workloads.CoreWorkload only",
            ));
        }
    }
    Ok(())
}

fn workload(
    properties: &Properties,
    histogram: Option<&str>,
) -> Result<CoreWorkload, PropertyError> {
    let default = CoreWorkload::default();
    let count =
        |name, default| or_default(properties, name, "a whole number of 0 or more", default);
    let small =
        |name, default| or_default(properties, name, "a whole number of 0 or more", default);
    let share = |name, default| or_default(properties, name, "a number", default);
    let text = |name, default: String| {
        properties.get(name).map_or(default, |property| property.value.trim().to_owned())
    };
    let flag = |name, default| match properties.get(name) {
        None => Ok(default),
        Some(property) => boolean(property),
    };
    let insert_count = match properties.get("insertcount") {
        None => None,
        Some(property) => Some(number(property, "a whole number of 0 or more")?),
    };
    Ok(CoreWorkload {
        table: text("table", default.table),
        key_prefix: text("keyprefix", default.key_prefix),
        record_count: count("recordcount", default.record_count)?,
        operation_count: count("operationcount", default.operation_count)?,
        insert_start: count("insertstart", default.insert_start)?,
        insert_count,
        field_count: small("fieldcount", default.field_count)?,
        field_name_prefix: text("fieldnameprefix", default.field_name_prefix),
        field_length: field_length(properties, histogram, &default.field_length)?,
        read_all_fields: flag("readallfields", default.read_all_fields)?,
        read_all_fields_by_name: flag("readallfieldsbyname", default.read_all_fields_by_name)?,
        write_all_fields: flag("writeallfields", default.write_all_fields)?,
        data_integrity: flag("dataintegrity", default.data_integrity)?,
        read_proportion: share("readproportion", default.read_proportion)?,
        update_proportion: share("updateproportion", default.update_proportion)?,
        insert_proportion: share("insertproportion", default.insert_proportion)?,
        scan_proportion: share("scanproportion", default.scan_proportion)?,
        read_modify_write_proportion: share(
            "readmodifywriteproportion",
            default.read_modify_write_proportion,
        )?,
        request_distribution: request_distribution(properties, default.request_distribution)?,
        scan_length_distribution: choice(
            properties,
            "scanlengthdistribution",
            &[("uniform", ScanDistribution::Uniform), ("zipfian", ScanDistribution::Zipfian)],
            default.scan_length_distribution,
        )?,
        min_scan_length: small("minscanlength", default.min_scan_length)?,
        max_scan_length: small("maxscanlength", default.max_scan_length)?,
        insert_order: choice(
            properties,
            "insertorder",
            &[("hashed", InsertOrder::Hashed), ("ordered", InsertOrder::Ordered)],
            default.insert_order,
        )?,
        zero_padding: small("zeropadding", default.zero_padding)?,
        ..default
    })
}

fn field_length(
    properties: &Properties,
    histogram: Option<&str>,
    default: &FieldLength,
) -> Result<FieldLength, PropertyError> {
    let expected = "a number of bytes";
    let max = or_default(properties, "fieldlength", expected, default.greatest() as u32)?;
    let min = or_default(properties, "minfieldlength", expected, 1)?;
    let lengths = [
        ("constant", FieldLength::Constant { bytes: max }),
        ("uniform", FieldLength::Uniform { min, max }),
        ("zipfian", FieldLength::Zipfian { min, max }),
        ("histogram", FieldLength::Histogram { block_bytes: 0, weights: Vec::new() }),
    ];
    let constant = FieldLength::Constant { bytes: max };
    let chosen = choice(properties, "fieldlengthdistribution", &lengths, constant)?;
    match (properties.histogram_file(), histogram) {
        (None, _) => Ok(chosen),
        (Some(file), None) => Err(PropertyError::NoHistogram { file }),
        (Some(file), Some(text)) => match Histogram::parse(text) {
            Ok((block_bytes, weights)) => Ok(FieldLength::Histogram { block_bytes, weights }),
            Err(why) => Err(PropertyError::BadHistogram { file, why }),
        },
    }
}

fn request_distribution(
    properties: &Properties,
    default: RequestDistribution,
) -> Result<RequestDistribution, PropertyError> {
    let named = RequestDistribution::NAMES
        .map(|name| (name, RequestDistribution::named(name).unwrap_or(default.clone())));
    let mut chosen = choice(properties, "requestdistribution", &named, default)?;
    let set = |name, value: &mut f64| -> Result<(), PropertyError> {
        *value = or_default(properties, name, "a number", *value)?;
        Ok(())
    };
    match &mut chosen {
        RequestDistribution::Zipfian { theta } | RequestDistribution::Latest { theta } => {
            set("zipfian.constant", theta)?;
        }
        RequestDistribution::Hotspot { data_fraction, operation_fraction } => {
            set("hotspotdatafraction", data_fraction)?;
            set("hotspotopnfraction", operation_fraction)?;
        }
        RequestDistribution::Exponential { percentile, fraction } => {
            set("exponential.percentile", percentile)?;
            set("exponential.frac", fraction)?;
        }
        RequestDistribution::Uniform {} | RequestDistribution::Sequential {} => {}
    }
    Ok(chosen)
}

fn client(properties: &Properties) -> Result<ClientSettings, PropertyError> {
    let expected = "a whole number of 0 or more";
    let seconds = or_default(properties, "maxexecutiontime", expected, 0)?;
    let target = or_default(properties, "target", expected, 0)?;
    let threads = match properties.get("threadcount") {
        None => None,
        Some(property) => match number(property, "a whole number of 1 or more")? {
            0 => return Err(bad_value(property, "a whole number of 1 or more")),
            threads => Some(threads),
        },
    };
    Ok(ClientSettings {
        threads,
        target_ops_per_second: (target > 0).then_some(target),
        max_execution_time: (seconds > 0).then(|| Duration::from_secs(seconds)),
        transactions: properties.get("dotransactions").map(boolean).transpose()?,
    })
}

fn or_default<T: FromStr>(
    properties: &Properties,
    name: &str,
    expected: &str,
    default: T,
) -> Result<T, PropertyError> {
    properties.get(name).map_or(Ok(default), |property| number(property, expected))
}

fn number<T: FromStr>(property: &Property, expected: &str) -> Result<T, PropertyError> {
    property.value.trim().parse().map_err(|_| bad_value(property, expected))
}

fn boolean(property: &Property) -> Result<bool, PropertyError> {
    match property.value.trim().to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(bad_value(property, "true or false")),
    }
}

fn choice<T: Clone>(
    properties: &Properties,
    name: &str,
    choices: &[(&str, T)],
    default: T,
) -> Result<T, PropertyError> {
    let Some(property) = properties.get(name) else { return Ok(default) };
    let given = property.value.trim();
    choices.iter().find(|(name, _)| *name == given).map(|(_, chosen)| chosen.clone()).ok_or_else(
        || {
            let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
            bad_value(property, &format!("one of {}", names.join(", ")))
        },
    )
}

fn bad_value(property: &Property, expected: &str) -> PropertyError {
    PropertyError::BadValue {
        name: property.name.clone(),
        value: property.value.clone(),
        origin: property.origin.clone(),
        expected: expected.to_owned(),
    }
}

fn unsupported(property: &Property, why: &'static str) -> PropertyError {
    PropertyError::Unsupported {
        name: property.name.clone(),
        value: property.value.clone(),
        origin: property.origin.clone(),
        why,
    }
}
