-- Deletes a record whose indexes lie on other nodes, and numbers that.
-- KEYS: the record, then the counter of its slot.
-- Answers the number, or 0 if the record does not exist.
if redis.call('DEL', KEYS[1]) == 0 then
  return 0
end
local number = redis.pcall('INCR', KEYS[2])
if type(number) == 'table' then
  -- A full server deletes, but does not count: the number of the last write will do.
  number = tonumber(redis.call('GET', KEYS[2]) or 1)
end
return number
