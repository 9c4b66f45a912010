import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useMay } from './may.ts';
import { requestsRead } from './reads.ts';
import { type AnyServerPayload, getSocket } from './socket.ts';
import { toolCallsRead } from './tool-approvals.ts';

/** How many questions and calls of tools wait for the caller. */
export function useWaiting(tenantID: string): number {
  const may = useMay();
  const requests = useQuery({ ...requestsRead(tenantID), enabled: may('workflow.execute') });
  const calls = useQuery({ ...toolCallsRead(tenantID, { isWaiting: true }), enabled: may('ai.approve') });
  return (requests.data?.totalCount ?? 0) + (calls.data?.totalCount ?? 0);
}

/** Reads what waits again when the server tells the caller of more. */
export function useNotifications(): void {
  const queries = useQueryClient();
  useEffect(() => {
    const socket = getSocket();
    const onNotification = ({ kind }: AnyServerPayload<'notification'>) => {
      if (kind === 'collectionRequest') void queries.invalidateQueries({ queryKey: ['requests'] });
      if (kind === 'toolApproval') void queries.invalidateQueries({ queryKey: ['tool-calls'] });
    };
    socket.on('notification', onNotification);
    return () => void socket.off('notification', onNotification);
  }, [queries]);
}
