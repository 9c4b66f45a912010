import { useEffect, useState } from 'react';
import { Chart } from '../chart/chart.tsx';
import type { Schemas } from '../client/types.ts';
import { type Column, Scroller, Table } from '../ui/table.tsx';
import { durationText } from '../ui/time.tsx';
import { Age, Section } from './parts.tsx';
import { type Longest, linesOf, longestOf, type Seen, withReading } from './waits.ts';

/** How long the oldest work of each class has waited, as far as this page has seen. */
export function WaitsPanel({ backlog }: { backlog: Schemas['FleetBacklogs'] }) {
  const [seen, setSeen] = useState<readonly Seen[]>([]);
  useEffect(() => setSeen((old) => withReading(old, backlog)), [backlog]);
  const [first] = seen;
  if (!first) return null;
  const times = seen.map(({ at }) => at);
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
        <Chart times={times} series={linesOf(seen)} format={durationText} least={1_000} />
        <Scroller label="Age of the oldest work, as a table">
          <Table caption="Age of the oldest work" columns={columns} rows={longestOf(seen)} idOf={({ name }) => name} />
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
