import { useQuery } from '@tanstack/react-query';
import { useMay } from './may.ts';
import { requestsRead } from './reads.ts';
import { toolCallsRead } from './tool-calls.ts';

/** How many questions and calls of tools wait for the caller. */
export function useWaiting(tenantID: string): number {
  const may = useMay();
  const requests = useQuery({ ...requestsRead(tenantID), enabled: may('workflow.execute') });
  const calls = useQuery({ ...toolCallsRead(tenantID, { isWaiting: true }), enabled: may('ai.approve') });
  return (requests.data?.totalCount ?? 0) + (calls.data?.totalCount ?? 0);
}
