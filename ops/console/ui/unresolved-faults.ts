import { useMemo, useState } from 'react';
import { unresolvedFaults } from './schema-value.ts';

type Faults = ReadonlyMap<string, string>;

/** The API's faults, by dotted paths, about parts of a value that have not changed since. */
export function useUnresolvedFaults(faults: Faults, value: unknown): Faults {
  const text = JSON.stringify([...faults]);
  const [told, setTold] = useState({ text, value });
  if (told.text !== text) setTold({ text, value });
  return useMemo(() => unresolvedFaults(new Map(JSON.parse(text)), told.value, value), [text, told, value]);
}
