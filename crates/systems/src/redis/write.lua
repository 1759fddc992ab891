-- Writes fields of a record, and their entries in the indexes with them.
-- KEYS: the record, then the index of each of the first fields given; then the set of all keys, if
-- the record belongs there.
-- ARGV: 'XX' if the record must exist, 'LIST' if it belongs into the set of all keys, otherwise '';
-- then field, value, field, value, ...
-- Answers 1, or 0 if the record does not exist: a record has every field.
local key = KEYS[1]
local indexes = #KEYS - 1
if ARGV[1] == 'LIST' then
  indexes = indexes - 1
end

local function entry(value)
  if string.find(value, '\0', 1, true) then
    value = string.gsub(value, '%z', '\0\255')
  end
  return value .. '\0\0' .. key
end

for i = 2, 1 + indexes do
  local field, value = ARGV[2 * i - 2], ARGV[2 * i - 1]
  local old = redis.call('HGET', key, field)
  if not old and ARGV[1] == 'XX' then
    return 0
  end
  if old ~= value then
    -- First what a full server refuses: later it would be too late to change nothing.
    redis.call('ZADD', KEYS[i], 0, entry(value))
    if old then
      redis.call('ZREM', KEYS[i], entry(old))
    end
  end
end
if ARGV[1] == 'LIST' then
  redis.call('ZADD', KEYS[#KEYS], 0, key)
end

-- A call takes some thousand arguments at most.
for first = 2, #ARGV, 1000 do
  redis.call('HSET', key, unpack(ARGV, first, math.min(first + 999, #ARGV)))
end
return 1
