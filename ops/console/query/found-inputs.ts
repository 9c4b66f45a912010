import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Offered } from '../code/offered.ts';
import { foundInputs, withInputs } from './inputs-in.ts';
import type { Source } from './tables.ts';

type Options = Readonly<Record<string, unknown>>;

/**
 * The options with the inputs declared that the query names and does not declare, as they are shown, run and saved. Their types
 * come from the tables.
 */
export function useWithFoundInputs(options: Options, { tables }: Offered, source: Source): Options {
  const named = useMemo(() => foundInputs(options).length > 0, [options]);
  const { data } = useQuery({
    queryKey: ['found-inputs', source.tenantID, source],
    queryFn: async () => (await tables?.()) ?? {},
    enabled: named && tables !== undefined,
    staleTime: 60_000,
    retry: false,
  });
  return useMemo(() => withInputs(options, foundInputs(options, data)), [options, data]);
}
