-- Deletes a record, and its entries in the indexes with it.
-- KEYS: the record, then every index; then the set of all keys, if there is one. ARGV: the field of
-- each index.
-- Answers how many records were deleted: 1 or 0.
local key = KEYS[1]

for i = 2, 1 + #ARGV do
  local value = redis.call('HGET', key, ARGV[i - 1])
  if value then
    if string.find(value, '\0', 1, true) then
      value = string.gsub(value, '%z', '\0\255')
    end
    redis.call('ZREM', KEYS[i], value .. '\0\0' .. key)
  end
end
if #KEYS > 1 + #ARGV then
  redis.call('ZREM', KEYS[#KEYS], key)
end
return redis.call('DEL', key)
