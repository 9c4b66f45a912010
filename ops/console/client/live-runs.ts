import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { runsRead } from './reads.ts';
import { getSocket, type ServerPayload, watchRun } from './socket.ts';
import type { RunSummary } from './types.ts';

const ended = new Set<string>(['COMPLETED', 'FAILED', 'CANCELLED']);

export function hasEnded({ status }: Pick<RunSummary, 'status'>): boolean {
  return ended.has(status);
}

type Read = ReturnType<typeof runsRead>;

/** Watches those runs of a list that have not ended, and writes what happens to them into what was read. */
export function useLiveRuns(queryKey: Read['queryKey'], runs: readonly RunSummary[]): void {
  const queries = useQueryClient();
  const watched = runs
    .filter((run) => !hasEnded(run))
    .map(({ instanceID }) => instanceID)
    .join(' ');

  useEffect(() => {
    if (watched === '') return;
    const ids = watched.split(' ');
    const onStatus = ({ instanceID, status, error, at }: ServerPayload<'workflow_status_update'>) => {
      if (!ids.includes(instanceID)) return;
      queries.setQueryData(queryKey, (page) => page && { ...page, instances: page.instances.map(changed) });
      function changed(run: RunSummary): RunSummary {
        if (run.instanceID !== instanceID) return run;
        const end = { completedAt: at, errorCode: error?.code ?? null };
        return { ...run, status, startedAt: run.startedAt ?? at, ...(ended.has(status) && end) };
      }
    };
    const socket = getSocket();
    socket.on('workflow_status_update', onStatus);
    // The list has told what was before.
    const leave = ids.map((instanceID) => watchRun(instanceID, { lastSeq: () => Number.MAX_SAFE_INTEGER }));
    return () => {
      socket.off('workflow_status_update', onStatus);
      for (const each of leave) each();
    };
  }, [watched, queries, queryKey]);
}
