import type { PeopleFilter } from '../client/people.ts';

/** A list of members, roles or keys, and which of them is looked at, as they stand in the address. */
export interface PeopleView extends PeopleFilter {
  /** An id. */
  shown?: string;
}

export function parsePeopleView(given: Record<string, unknown>): PeopleView {
  const found = (['search', 'cursor', 'shown'] as const).flatMap((name) => {
    const value = given[name];
    // The address of a router holds a text of digits as a number.
    return (typeof value === 'string' && value !== '') || typeof value === 'number' ? [[name, String(value)]] : [];
  });
  return Object.fromEntries(found);
}
