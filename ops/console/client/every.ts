import { isRefusal } from './rest.ts';

type Interval = number | false;

interface Asked<T> {
  state: { data: T | undefined; error: Error | null };
}

/** How often a query is read again: until it is refused, since each refusal is recorded in the audit trail. */
export function every<T>(ms: Interval | ((data: T | undefined) => Interval)): (query: Asked<T>) => Interval {
  return ({ state: { data, error } }) => {
    if (isRefusal(error)) return false;
    return typeof ms === 'function' ? ms(data) : ms;
  };
}
