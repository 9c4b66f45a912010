import { ActionIcon, Group, NumberInput, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { useLiveRun } from '../client/live-run.ts';
import { findItem, type MapIDs } from '../client/maps.ts';
import { nodesOf } from '../client/run-steps.ts';
import { Icon } from '../ui/icon.tsx';
import { Problem } from '../ui/problem.tsx';
import type { StepResult } from './results.ts';

interface Props {
  tenantID: string;
  /** The step whose result is looked for. */
  nodeID: string;
  /** The result of the map in whose body the step lies; undefined before a test has reached it. */
  map: StepResult | undefined;
  children: (result: StepResult | undefined) => ReactNode;
}

/** The result of a step for one item of the map around it: items are steps of other runs, of which one is chosen by its number. */
export function ItemResult({ tenantID, nodeID, map, children }: Props) {
  const [item, setItem] = useState(0);
  const own = map?.run.maps?.findLast((one) => one.nodeID === map.steps.nodeID);
  if (!map || !own) return children(undefined);
  const { mapID, total, failed } = own;
  const ids = { tenantID, instanceID: map.run.instanceID, mapID };
  if (total === 0) return <Text size="sm">The list of the map was empty: no test has reached this step.</Text>;
  return (
    <Stack gap="sm" className="step-result">
      <Group gap="xs">
        <Text size="sm" id="item-of-map">
          Item
        </Text>
        <ActionIcon
          variant="default"
          aria-label="The item before"
          disabled={item === 0}
          onClick={() => setItem(item - 1)}
        >
          <Icon name="back" size={14} />
        </ActionIcon>
        <NumberInput
          aria-labelledby="item-of-map"
          size="xs"
          w={90}
          min={0}
          max={total - 1}
          allowDecimal={false}
          hideControls
          value={item}
          onChange={(next) => typeof next === 'number' && next >= 0 && next < total && setItem(next)}
        />
        <ActionIcon
          variant="default"
          aria-label="The next item"
          disabled={item >= total - 1}
          onClick={() => setItem(item + 1)}
        >
          <Icon name="onward" size={14} />
        </ActionIcon>
        <Text size="sm" c="dimmed">
          counted from 0, of {total.toLocaleString()}
          {failed > 0 && `; ${failed.toLocaleString()} failed`}
        </Text>
      </Group>
      <Found key={item} ids={ids} item={item} nodeID={nodeID}>
        {children}
      </Found>
    </Stack>
  );
}

interface FoundProps {
  ids: MapIDs;
  item: number;
  nodeID: string;
  children: Props['children'];
}

function Found({ ids, item, nodeID, children }: FoundProps) {
  const found = useQuery({ queryKey: ['item-of-map', ids, item], queryFn: () => findItem(ids, item) });
  const error = errorInPlaceOf(found);
  if (error) return <Problem error={error} onRetry={() => void found.refetch()} />;
  if (found.data === undefined) return <Skeleton h={120} />;
  if (found.data === null) return <Text size="sm">The work on this item has not begun.</Text>;
  return (
    <OfRun tenantID={ids.tenantID} instanceID={found.data} item={item} nodeID={nodeID}>
      {children}
    </OfRun>
  );
}

interface OfRunProps extends Omit<FoundProps, 'ids'> {
  tenantID: string;
  instanceID: string;
}

function OfRun({ tenantID, instanceID, item, nodeID, children }: OfRunProps) {
  const { run, error, refetch } = useLiveRun({ tenantID, instanceID });
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!run) return <Skeleton h={120} />;
  const [steps] = nodesOf(
    run.timeline.filter((event) => event.nodeID === nodeID && event.frame[0]?.iteration === item),
    run.status,
  );
  return children(steps && { run, steps });
}
