import { useEffect, useState } from 'react';
import { Chart } from '../chart/chart.tsx';
import type { Series } from '../chart/series.ts';
import type { Schemas } from '../client/types.ts';
import { type Column, Scroller, Table } from '../ui/table.tsx';
import { durationText } from '../ui/time.tsx';
import { Age, Section } from './parts.tsx';
import { type Longest, longestOf, type Seen, withReading } from './waits.ts';

const looks: readonly (Pick<Series, 'tone' | 'dash'> & { name: string })[] = [
  { name: 'interactive', tone: 'busy' },
  { name: 'webhook', tone: 'ok', dash: [8, 4] },
  { name: 'cron', tone: 'wait', dash: [2, 3] },
  { name: 'batch', tone: 'idle', dash: [10, 3, 2, 3] },
  { name: 'listener.events', tone: 'bad', dash: [5, 2] },
];

/** How long the oldest work of each class has waited, as far as this page has seen. */
export function WaitsPanel({ backlog }: { backlog: Schemas['FleetBacklogs'] }) {
  const [seen, setSeen] = useState<readonly Seen[]>([]);
  useEffect(() => setSeen((old) => withReading(old, backlog)), [backlog]);
  const [first] = seen;
  if (!first) return null;
  const times = seen.map(({ at }) => at);
  const series = looks.map(
    (look): Series => ({
      ...look,
      look: 'line',
      values: seen.map(({ ages }) => ages.get(look.name) ?? 0),
    }),
  );
  return (
    <Section
      title="Age of the oldest work"
      said={
        <>
          seen since this page was opened, for <Age at={new Date(first.at).toISOString()} />
        </>
      }
    >
      <div className="panel charted">
        <Chart times={times} series={series} format={durationText} />
        <Scroller label="Age of the oldest work, as a table">
          <Table
            caption="Age of the oldest work"
            columns={columns}
            rows={longestOf(
              seen,
              looks.map(({ name }) => name),
            )}
            idOf={({ name }) => name}
          />
        </Scroller>
      </div>
    </Section>
  );
}

const columns: readonly Column<Longest>[] = [
  { head: 'Class or queue', cell: ({ name }) => name },
  { head: 'Now', cell: ({ now }) => ageText(now) },
  { head: 'Longest', cell: ({ longest }) => ageText(longest) },
  {
    head: 'At',
    cell: ({ longest, at }) => (longest === 0 ? '–' : new Date(at).toLocaleTimeString()),
    isWide: true,
  },
];

function ageText(ms: number): string {
  return ms === 0 ? 'nothing waits' : durationText(ms);
}
