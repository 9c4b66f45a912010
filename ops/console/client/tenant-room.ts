import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { readByPermissions } from './queries.ts';
import { type AnyServerPayload, getSocket, joinRoom } from './socket.ts';

/** Lists are read again so often without a word of the server, in case that its message was lost. */
export const SLOW_MS = 30_000;
/** Changes of this time lead to one reading. */
const BATCH_MS = 1_000;

const onRuns = ['runs', 'overview'] as const;
const onQuestions = ['requests', 'overview'] as const;

/** Reads lists again when the server tells of changes in the tenant, and once it does: what was read before may lack some. */
export function useTenantRoom(tenantID: string): void {
  const queries = useQueryClient();
  useEffect(() => {
    const socket = getSocket();
    const due = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = (keys: readonly string[]) => {
      for (const key of keys) due.add(key);
      timer ??= setTimeout(() => {
        timer = undefined;
        for (const key of due) void queries.invalidateQueries({ queryKey: [key, tenantID] });
        due.clear();
      }, BATCH_MS);
    };
    const onRun = (change: AnyServerPayload<'workflow_run_changed'>) => {
      if (change.tenantID === tenantID) read(onRuns);
    };
    const onQuestion = (change: AnyServerPayload<'workflow_data_collection_changed'>) => {
      if (change.tenantID === tenantID) read(onQuestions);
    };
    const onNotification = ({ kind }: AnyServerPayload<'notification'>) => {
      if (kind === 'toolApproval') read(['tool-calls', 'overview']);
    };
    const onPermissions = (change: AnyServerPayload<'permissions_changed'>) => {
      if (change.tenantID === tenantID) void readByPermissions(tenantID);
    };
    socket.on('workflow_run_changed', onRun);
    socket.on('permissions_changed', onPermissions);
    socket.on('workflow_data_collection_changed', onQuestion);
    socket.on('notification', onNotification);
    const leave = joinRoom(`tenant:${tenantID}`, {
      onJoined: () => {
        read([...onRuns, ...onQuestions]);
        void readByPermissions(tenantID);
      },
      // The connection of a user who is no longer a member is closed.
      onRefused: () => void queries.invalidateQueries(),
    });
    return () => {
      clearTimeout(timer);
      leave();
      socket.off('workflow_run_changed', onRun);
      socket.off('permissions_changed', onPermissions);
      socket.off('workflow_data_collection_changed', onQuestion);
      socket.off('notification', onNotification);
    };
  }, [tenantID, queries]);
}
