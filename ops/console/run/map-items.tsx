import { Button, Group, NumberInput, Stack, Text } from '@mantine/core';
import { keepPreviousData, useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { failedChunksRead, findItem, type MapChunk, type MapIDs } from '../client/maps.ts';
import { stepKey } from '../client/run-steps.ts';
import type { Run } from '../client/types.ts';
import { Problem } from '../ui/problem.tsx';
import type { Graph } from './graph-of.ts';

type MapOfRun = NonNullable<Run['maps']>[number];

interface Props {
  tenantID: string;
  run: Run;
  graph: Graph | undefined;
  /** The key of a step. */
  step: string;
}

/** The items of a map, which are steps of other runs: how many, the failed ones first, and the way to each. */
export function MapItems({ tenantID, run: { instanceID, maps = [] }, graph, step }: Props) {
  const [nodeID] = step.split('@');
  const own = maps.filter((one) => one.nodeID === nodeID);
  // In a loop, each time has its own.
  const map = own.find((one) => stepKey(one) === step) ?? own.at(-1);
  if (!map) return null;
  const { mapID, done, total, failed } = map;
  const ids = { tenantID, instanceID, mapID };
  const first = graph?.edges.find(({ source, exit }) => source === nodeID && exit === 'map')?.target;
  return (
    <Stack gap="xs" component="section" aria-label="Items of the map">
      <Text size="sm">
        {done.toLocaleString()} of {total.toLocaleString()} items are done, {failed.toLocaleString()} of them failed.
      </Text>
      {failed > 0 && <FailedItems key={mapID} ids={ids} map={map} />}
      {total > 0 && <ToItem key={`to ${mapID}`} ids={ids} total={total} first={first} />}
    </Stack>
  );
}

function FailedItems({ ids, map: { failed } }: { ids: MapIDs; map: MapOfRun }) {
  const read = useInfiniteQuery({ ...failedChunksRead(ids, failed), placeholderData: keepPreviousData });
  const error = errorInPlaceOf(read);
  if (error) return <Problem error={error} onRetry={() => void read.refetch()} />;
  const chunks = read.data?.pages.flatMap((page) => page.chunks) ?? [];
  return (
    <>
      <ul className="lines" aria-label="Failed items">
        {chunks.map((chunk) => (
          <li key={chunk.first}>
            <Link
              className="link"
              to="/t/$tenantID/runs/$instanceID"
              params={{ tenantID: ids.tenantID, instanceID: chunk.instanceID ?? '' }}
              search={chunk.failedStep ? { step: stepKey(chunk.failedStep) } : {}}
            >
              {wordsOf(chunk)}
            </Link>
          </li>
        ))}
      </ul>
      {read.hasNextPage && (
        <Group>
          <Button size="xs" variant="default" loading={read.isFetching} onClick={() => void read.fetchNextPage()}>
            More
          </Button>
        </Group>
      )}
    </>
  );
}

function wordsOf({ first, size, failed, failedStep }: MapChunk): string {
  const item = failedStep?.frame[0]?.iteration;
  const part = `items ${first.toLocaleString()} to ${(first + size - 1).toLocaleString()}`;
  // The run has failed as a whole.
  if (item === undefined) return `All of ${part} failed`;
  const others = (failed ?? 1) - 1;
  return `Item ${item.toLocaleString()}${others > 0 ? ` and ${others.toLocaleString()} more of ${part}` : ''} failed`;
}

/** `first` is the node with which the work on an item begins. */
function ToItem({ ids, total, first }: { ids: MapIDs; total: number; first: string | undefined }) {
  const [item, setItem] = useState<number | string>('');
  const navigate = useNavigate();
  const find = useMutation({
    mutationFn: async () => {
      if (typeof item !== 'number' || item < 0 || item >= total)
        throw new Error(`The items have the numbers 0 to ${(total - 1).toLocaleString()}`);
      const instanceID = await findItem(ids, item);
      if (instanceID === null) throw new Error(`The work on item ${item.toLocaleString()} has not begun`);
      await navigate({
        to: '/t/$tenantID/runs/$instanceID',
        params: { tenantID: ids.tenantID, instanceID },
        search: first === undefined ? {} : { step: `${first}@${item}` },
      });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    find.mutate();
  };
  return (
    <form onSubmit={submit} noValidate>
      <Group align="start" gap="xs">
        <NumberInput
          aria-label="Number of an item"
          placeholder={`0 to ${(total - 1).toLocaleString()}`}
          size="xs"
          hideControls
          allowDecimal={false}
          value={item}
          error={find.error?.message}
          onChange={(next) => {
            setItem(next);
            find.reset();
          }}
        />
        <Button type="submit" size="xs" variant="default" loading={find.isPending}>
          Go to the item
        </Button>
      </Group>
    </form>
  );
}
