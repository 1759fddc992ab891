-- Has an index follow a write of a record that lies on another node. Writes may be told of in any order:
-- the one with the greatest number holds.
-- KEYS: the entries, then the ledger: by record the number of the write that holds, and its entry.
-- ARGV: the record's key, the write's number, and its entry; '' if the record was deleted.
-- Answers 1, or 0 if a later write was told of before.
local key, number, entry = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local old_number, old = -1, ''
local held = redis.call('HGET', KEYS[2], key)
if held then
  local space = string.find(held, ' ', 1, true)
  old_number, old = tonumber(string.sub(held, 1, space - 1)), string.sub(held, space + 1)
end
if old_number > number or (old_number == number and entry ~= '') then
  return 0
end
local line = ARGV[2] .. ' ' .. entry
if entry == '' then
  -- A full server takes entries away, but notes nothing.
  redis.pcall('HSET', KEYS[2], key, line)
else
  -- First what a full server refuses.
  if entry ~= old then
    redis.call('ZADD', KEYS[1], 0, entry)
  end
  redis.call('HSET', KEYS[2], key, line)
end
if old ~= '' and old ~= entry then
  redis.call('ZREM', KEYS[1], old)
end
return 1
