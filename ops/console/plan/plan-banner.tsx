import { Button, Group, Text } from '@mantine/core';
import { Notice } from '../ui/notice.tsx';
import { type Plan, summaryOfPlan } from './planned.ts';

interface Props {
  plan: Plan;
  /** The graph was changed after it was planned. */
  isOutdated: boolean;
  nameOf: (id: string) => string;
  onSelect: (id: string) => void;
  onAgain: () => void;
  onClose: () => void;
}

/** Says that the graph shows a plan, and what stands against it. */
export function PlanBanner({ plan, isOutdated, nameOf, onSelect, onAgain, onClose }: Props) {
  const { versionNumber, problems } = plan;
  return (
    <section className="plan-banner" aria-label="What would happen">
      <Group justify="space-between" gap="xs">
        <Text size="sm" role="status">
          <strong>What would happen</strong>
          {versionNumber !== null && `, by version ${versionNumber}`}: {summaryOfPlan(plan)} Nothing was executed; it is
          assumed that steps succeed.
          {isOutdated && ' The graph has changed since: plan it again to see what that changes.'}
        </Text>
        <Group gap="xs">
          <Button size="compact-sm" variant="default" onClick={onAgain}>
            With another input
          </Button>
          <Button size="compact-sm" variant="default" onClick={onClose}>
            Close the plan
          </Button>
        </Group>
      </Group>
      {problems.length > 0 && (
        <Notice tone="bad" title="What stands against it">
          <ul className="lines">
            {problems.map(({ nodeID, path, message }) => (
              <li key={`${nodeID} ${path} ${message}`}>
                {nodeID !== undefined && (
                  <button type="button" className="plain link" onClick={() => onSelect(nodeID)}>
                    <bdi>{nameOf(nodeID)}</bdi>
                  </button>
                )}
                {nodeID === undefined && path !== undefined && 'Input '}
                {path !== undefined && ` ${path}`}: {message}
              </li>
            ))}
          </ul>
        </Notice>
      )}
    </section>
  );
}
