import { useQuery } from '@tanstack/react-query';
import { body, rest } from '../client/rest.ts';
import { Detail } from '../ui/detail.tsx';
import { Status } from '../ui/status.tsx';
import { Ago } from '../ui/time.tsx';
import { RunLink } from './started-by.tsx';

/** The newest run that repeats this one, and what became of it. */
export function RunAgain({ tenantID, instanceID }: { tenantID: string; instanceID: string }) {
  const { data: newest } = useQuery({
    queryKey: ['runs', tenantID, 'repeating', instanceID],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { rerunOf: instanceID, limit: 1 } };
      return (await body(rest.GET('/api/v1/tenants/{tenantID}/workflows/instances', { params }))).instances[0] ?? null;
    },
  });
  if (!newest) return null;
  return (
    <Detail name="Run again">
      <RunLink tenantID={tenantID} instanceID={newest.instanceID} name={newest.instanceID.slice(-8)} />{' '}
      <Status of={newest.status} />, <Ago at={newest.createdAt} />
    </Detail>
  );
}
