import { errorInPlaceOf } from '../client/error-in-place.ts';
import '@mantine/core/styles/Progress.css';
import '@mantine/core/styles/Radio.css';
import { Button, Group, Modal, Progress, Radio, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { every } from '../client/every.ts';
import { runQuery } from '../client/reads.ts';
import { body, rest } from '../client/rest.ts';
import type { RunFilter } from '../client/run-filter.ts';
import type { RunStatus, Schemas } from '../client/types.ts';
import { countOf } from '../ui/count.ts';
import { Problem } from '../ui/problem.tsx';
import { wordOf } from '../ui/status.tsx';
import { Words } from '../ui/words.tsx';

export type Action = 'cancel' | 'rerun';
type Batch = Schemas['WorkflowBatch'];
type Filter = Omit<Schemas['WorkflowCancelMany']['filter'], 'isTest'>;

const unended: readonly RunStatus[] = ['PENDING', 'RUNNING', 'WAITING'];
const PROGRESS_MS = 500;

interface Props {
  tenantID: string;
  filter: RunFilter;
  action: Action;
  onClose: () => void;
}

/** Cancels or repeats what a filter finds, after saying how many that are. */
export function ManyRuns({ tenantID, filter, action, onClose }: Props) {
  const queries = useQueryClient();
  const [batchID, setBatchID] = useState<string>();
  const close = () => {
    void queries.invalidateQueries({ queryKey: ['runs', tenantID] });
    onClose();
  };
  return (
    <Modal opened onClose={close} title={action === 'cancel' ? 'Cancel runs' : 'Re-run runs'}>
      {batchID === undefined ? (
        <Ask tenantID={tenantID} filter={filter} action={action} onBegun={(batch) => setBatchID(batch.batchID)} />
      ) : (
        <BatchProgress tenantID={tenantID} batchID={batchID} onClose={close} />
      )}
    </Modal>
  );
}

function Ask({
  tenantID,
  filter,
  action,
  onBegun,
}: Omit<Props, 'onClose'> & {
  onBegun: (batch: Batch) => void;
}) {
  const statuses = statusesOf(action, filter.status);
  // Runs that are accepted later were not counted, and are left alone.
  const [until] = useState(() => new Date().toISOString());
  const counted: Filter = { ...runQuery(filter), to: filter.to !== undefined && filter.to < until ? filter.to : until };
  // Tests are not repeated.
  const kinds = action === 'rerun' ? ({ isTest: 'false' } as const) : {};
  const counting = useQuery({
    queryKey: ['run-count', tenantID, counted, statuses],
    queryFn: async () => {
      const counts = await Promise.all(statuses.map((status) => countRuns(tenantID, { ...counted, ...kinds, status })));
      return counts.reduce((sum, one) => sum + one, 0);
    },
  });
  const [version, setVersion] = useState('original');
  const [start, setStart] = useState<'start' | 'failed'>(statuses.includes('FAILED') ? 'failed' : 'start');
  const begin = useMutation({
    mutationFn: async () => {
      const params = { path: { tenantID } };
      if (action === 'cancel') {
        const path = '/api/v1/tenants/{tenantID}/workflows/batches/cancel';
        return (await body(rest.POST(path, { params, body: { filter: counted } }))).batch;
      }
      const path = '/api/v1/tenants/{tenantID}/workflows/batches/rerun';
      const request = { filter: counted, from: start, version };
      return (await body(rest.POST(path, { params, body: request }))).batch;
    },
    onSuccess: onBegun,
  });
  const { data: count } = counting;
  const error = errorInPlaceOf(counting);
  if (error) return <Problem error={error} />;
  if (count === undefined) return <Text role="status">Counting …</Text>;
  const runs = countOf(count, 'run');
  return (
    <Stack>
      <Text role="status">
        {statuses.length === 0 ? NONE[action] : `${runs} ${sentences[action](statuses, count)}`}
      </Text>
      {action === 'rerun' && statuses.length > 0 && !statuses.includes('COMPLETED') && (
        <Radio.Group label="From" value={start} onChange={(value) => setStart(value as typeof start)}>
          <Stack gap="xs" mt={4}>
            <Radio value="start" label="The start: every step is executed again" />
            <Radio value="failed" label="Where each failed or was interrupted: results before that are taken over" />
          </Stack>
        </Radio.Group>
      )}
      {action === 'rerun' && (
        <Radio.Group label="Version" value={version} onChange={setVersion}>
          <Group mt={4}>
            <Radio value="original" label="That of each run" />
            <Radio value="published" label="The published one" />
          </Group>
        </Radio.Group>
      )}
      {begin.error && <Problem error={begin.error} />}
      <Group justify="flex-end">
        <Button
          color={action === 'cancel' ? 'red' : 'blue'}
          disabled={count === 0}
          loading={begin.isPending}
          onClick={() => begin.mutate()}
        >
          {action === 'cancel' ? `Cancel ${runs}` : `Re-run ${runs}`}
        </Button>
      </Group>
    </Stack>
  );
}

const NONE = {
  cancel: 'The filter names runs that have ended: none of them can be cancelled.',
  rerun: 'The filter names runs that have not ended: none of them can be repeated.',
};

const sentences: Record<Action, (statuses: readonly RunStatus[], count: number) => string> = {
  cancel: (_, count) =>
    count === 1
      ? 'that has not ended will be cancelled, with the runs that it has started.'
      : 'that have not ended will be cancelled, with the runs that they have started.',
  rerun: ([status = 'FAILED'], count) =>
    `with the status “${wordOf(status)}” will be executed again, as ${count === 1 ? 'a new run' : 'new runs'}.`,
};

/** Without a status the API cancels what has not ended, and repeats what has failed. */
function statusesOf(action: Action, status: RunStatus | undefined): readonly RunStatus[] {
  if (action === 'cancel') return status === undefined ? unended : unended.filter((one) => one === status);
  return status === undefined ? ['FAILED'] : [status].filter((one) => !unended.includes(one));
}

async function countRuns(tenantID: string, query: Filter): Promise<number> {
  const params = { path: { tenantID }, query: { ...query, page: 1, pageSize: 1 } };
  const { totalCount } = await body(rest.GET('/api/v1/tenants/{tenantID}/workflows/instances', { params }));
  return totalCount ?? 0;
}

/** A worker does the work, so the dialog may be closed meanwhile. */
function BatchProgress({ tenantID, batchID, onClose }: { tenantID: string; batchID: string; onClose: () => void }) {
  const read = useQuery({
    queryKey: ['batch', tenantID, batchID],
    queryFn: async () => {
      const path = '/api/v1/tenants/{tenantID}/workflows/batches/{batchID}';
      return (await body(rest.GET(path, { params: { path: { tenantID, batchID } } }))).batch;
    },
    refetchInterval: every((read) => (read?.filledAt ? false : PROGRESS_MS)),
  });
  const { data: batch } = read;
  const error = errorInPlaceOf(read);
  if (error) return <Problem error={error} />;
  if (!batch) return <Text role="status">Beginning …</Text>;
  const { lookedAt, total, refused, kind, filledAt, lastError } = batch;
  const found = Math.max(lookedAt, total + refused);
  return (
    <Stack>
      <Progress value={filledAt ? 100 : 50} animated={!filledAt} aria-label="Progress" />
      <Text role="status">
        {filledAt ? 'Done: ' : 'So far: '}
        {total.toLocaleString()} of {countOf(found, 'run')} {found === 1 ? 'was' : 'were'}{' '}
        {kind === 'cancel' ? 'cancelled.' : 'accepted again.'}
        {refused > 0 && ` Refused: ${refused.toLocaleString()}.`} {lastError && <Words text={lastError} />}
      </Text>
      <Group justify="flex-end">
        {kind === 'rerun' && (
          <Link
            className="link"
            to="/t/$tenantID/runs"
            params={{ tenantID }}
            search={{ batch: batchID }}
            onClick={onClose}
          >
            Show the new runs
          </Link>
        )}
        <Link className="link" to="/t/$tenantID/batches/$batchID" params={{ tenantID, batchID }} onClick={onClose}>
          Show the batch
        </Link>
      </Group>
    </Stack>
  );
}
