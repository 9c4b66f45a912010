import { Group, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Shadow } from '../client/shadow-replay.ts';
import { withoutTurning } from '../code/turning.ts';
import { countOf } from '../ui/count.ts';
import { Scroller } from '../ui/table.tsx';
import { differencesOf } from './replayed.ts';

interface Props {
  tenantID: string;
  shadow: Shadow;
  nameOf: (nodeID: string) => string;
}

/** More of them would make the page slow. */
const MAX_SHOWN = 200;

/** How a replay differs from the run that the event had started, step by step. */
export function Differences({ tenantID, shadow, nameOf }: Props) {
  const all = shadow.diff ? differencesOf(shadow.diff, shadow) : [];
  const runs = [
    { name: 'The earlier run', instanceID: shadow.original.instanceID },
    { name: 'The run of the draft', instanceID: shadow.shadow.instanceID },
  ];
  return (
    <section aria-label="What differs">
      <Group gap="md">
        {runs.map(({ name, instanceID }) => (
          <Link
            key={name}
            className="link note-link"
            to="/t/$tenantID/runs/$instanceID"
            params={{ tenantID, instanceID }}
            search={{}}
          >
            {name}
          </Link>
        ))}
      </Group>
      {all.length > 0 && (
        <Scroller label="Differences">
          <table className="list dense">
            <caption className="unseen">What differs, step by step</caption>
            <thead>
              <tr>
                <th scope="col">Step</th>
                <th scope="col">What</th>
                <th scope="col">Was</th>
                <th scope="col">Now</th>
              </tr>
            </thead>
            <tbody>
              {all.slice(0, MAX_SHOWN).map(({ nodeID, iteration, what, from, to }) => (
                <tr key={`${nodeID} ${iteration} ${what}`}>
                  <td>
                    <bdi>{nodeID === null ? 'The run' : nameOf(nodeID)}</bdi>
                    {iteration && ` (${iteration})`}
                  </td>
                  <td className="breaks">{what}</td>
                  <td className="breaks">{withoutTurning(from ?? '–')}</td>
                  <td className="breaks">{withoutTurning(to ?? '–')}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroller>
      )}
      {all.length > MAX_SHOWN && <Text size="sm">And {countOf(all.length - MAX_SHOWN, 'other difference')}.</Text>}
      {shadow.diff?.isCut && <Text size="sm">The runs have more steps than are compared.</Text>}
    </section>
  );
}
