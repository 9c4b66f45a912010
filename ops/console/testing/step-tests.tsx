import { Button, Group, Menu, Stack, Text } from '@mantine/core';
import { APIError } from '../client/rest.ts';
import { Icon } from '../ui/icon.tsx';
import { May } from '../ui/may.tsx';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import type { StepAlone } from './part-of-graph.ts';
import { PinnedNote, usePinning } from './pin-controls.tsx';
import { type EditedStep, type Pin, pinOf } from './pins.ts';
import type { Tests } from './use-tests.ts';

interface Props {
  tests: Tests;
  /** How the step is run alone. */
  alone: StepAlone;
  node: EditedStep;
  /** Titles of steps. */
  nameOf: (id: string) => string;
  exits: readonly { id: string; name: string }[];
  /** Runs begin at it. */
  begins: boolean;
  isReadOnly: boolean;
  onPin: (pin: Pin | undefined) => void;
}

/** Runs a step in tests, alone or with those before it, and pins its result. */
export function StepTests({ tests, alone, node, nameOf, exits, begins, isReadOnly, onPin }: Props) {
  const { id } = node;
  const pin = pinOf(node);
  const { missing, map } = alone;
  const target = tests.start.variables?.target;
  const isOwn = target?.kind !== 'all' && target?.id === id;
  const isStarting = (kind: 'upTo' | 'alone') => tests.start.isPending && isOwn && target.kind === kind;
  const canBePinned = !begins && exits.length > 0;
  const isReached = tests.isReached(id);
  const pinning = usePinning({ tenantID: tests.tenantID, node, result: tests.results.get(id), exits, onPin });
  return (
    <Stack gap={6} className="step-tests">
      <May permission="workflow.test" on="workflow:*">
        <Group gap="xs">
          <Button
            size="compact-sm"
            variant="light"
            leftSection={<Icon name="play" size={12} />}
            disabled={!isReached}
            loading={isStarting('upTo')}
            onClick={() => tests.run({ kind: 'upTo', id })}
          >
            {map === undefined ? 'Run to here' : `Run to “${nameOf(map)}”`}
          </Button>
          {!pin && !begins && map === undefined && (
            <Button
              size="compact-sm"
              variant="default"
              disabled={missing.length > 0}
              loading={isStarting('alone')}
              onClick={() => tests.run({ kind: 'alone', id })}
            >
              Run only this step
            </Button>
          )}
          <Menu position="bottom-end" width={260}>
            <Menu.Target>
              <Button
                size="compact-sm"
                variant="default"
                aria-label="Test data"
                rightSection={<Icon name="down" size={12} />}
              >
                Data
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item onClick={() => tests.ask({ kind: 'upTo', id })}>
                Change the inputs of the test
                <span className="menu-note">What the run is given, for this test and the next ones</span>
              </Menu.Item>
              {!isReadOnly && !pin && canBePinned && (
                <Menu.Item onClick={pinning.begin}>
                  {pinning.label}
                  <span className="menu-note">Tests take it, and do not run the step</span>
                </Menu.Item>
              )}
            </Menu.Dropdown>
          </Menu>
        </Group>
      </May>
      {pinning.error && <Problem error={pinning.error} />}
      {pinning.dialog}
      <Hints alone={pin ? undefined : alone} isReached={isReached} nameOf={nameOf} />
      <PinnedNote node={node} exits={exits} isReadOnly={isReadOnly} onPin={onPin} />
      {tests.start.error && isOwn && (
        <StartProblem error={tests.start.error} sent={tests.start.variables?.nodes ?? []} nameOf={nameOf} />
      )}
    </Stack>
  );
}

interface HintProps {
  /** Undefined: the step is pinned. */
  alone: StepAlone | undefined;
  isReached: boolean;
  nameOf: (id: string) => string;
}

/** Says which results a test of the step takes, and which it lacks. */
function Hints({ alone, isReached, nameOf }: HintProps) {
  const { map, missing = [], given = [] } = alone ?? {};
  const names = (ids: readonly string[]) => ids.map((one) => `“${nameOf(one)}”`).join(', ');
  const hints = [
    !isReached && 'No way leads here from the start: connect the step, or run only this step.',
    map !== undefined && `The items of “${nameOf(map)}” are runs of their own: it is run as a whole.`,
    map === undefined &&
      missing.length > 0 &&
      `“Run only this step” needs a result of ${names(missing)}: run to here first, or pin a result there.`,
    map === undefined &&
      missing.length === 0 &&
      given.length > 0 &&
      `“Run only this step” takes the last results of ${names(given)}.`,
  ].filter((hint) => typeof hint === 'string');
  return hints.map((hint) => (
    <Text key={hint} size="xs" c="dimmed">
      {hint}
    </Text>
  ));
}

interface ProblemProps {
  error: Error;
  sent: readonly EditedStep[];
  nameOf: (id: string) => string;
}

/** Why a test has not begun: faults of the steps that it would run, by their titles and fields. */
export function StartProblem({ error, sent, nameOf }: ProblemProps) {
  const faults = error instanceof APIError ? error.issues : [];
  const lines = faults.flatMap(({ path: [list, index, ...field], message }) => {
    const node = list === 'workflowNodes' ? sent[Number(index)] : undefined;
    const name = field.filter((part) => part !== 'data').join('.');
    return node ? [`“${nameOf(node.id)}”${name && `, ${name}`}: ${message}`] : [];
  });
  if (lines.length === 0) return <Problem error={error} />;
  return (
    <Notice tone="bad" role="alert" title="The test has not begun">
      <ul className="lines">
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </Notice>
  );
}
