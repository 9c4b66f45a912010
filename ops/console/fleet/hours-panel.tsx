import { Chart } from '../chart/chart.tsx';
import type { Series } from '../chart/series.ts';
import type { Schemas } from '../client/types.ts';
import { type Column, Scroller, Table } from '../ui/table.tsx';
import { countText, ReadAgo, Section } from './parts.tsx';

type Hour = Schemas['FleetHour'];

/** How many runs were accepted and have ended in each of the last 24 hours. */
export function HoursPanel({ hours: { at, rows } }: { hours: Schemas['FleetHours'] }) {
  const series: Series[] = [
    { name: 'Accepted', tone: 'busy', shape: 'bar on the left', values: rows.map(({ accepted }) => accepted) },
    // The failed ones are the lower part of the same bar.
    {
      ...{ name: 'Completed', tone: 'ok', shape: 'hollow bar on the right' },
      values: rows.map(({ completed, failed }) => completed + failed),
    },
    { name: 'Failed', tone: 'bad', shape: 'bar on the right', values: rows.map(({ failed }) => failed) },
  ];
  return (
    <Section title="Runs by hour" said={<ReadAgo at={at} />}>
      <div className="panel charted">
        <Chart
          times={rows.map(({ hour }) => Date.parse(hour))}
          series={series}
          least={1}
          format={(count) => (Number.isInteger(count) ? count.toLocaleString() : '')}
        />
        <Scroller label="Runs by hour, as a table">
          <Table caption="Runs by hour" columns={columns} rows={rows.toReversed()} idOf={({ hour }) => hour} />
        </Scroller>
      </div>
    </Section>
  );
}

const clock = new Intl.DateTimeFormat(undefined, { weekday: 'short', hour: '2-digit', minute: '2-digit' });

const columns: readonly Column<Hour>[] = [
  { head: 'Hour', cell: ({ hour }) => <time dateTime={hour}>{clock.format(new Date(hour))}</time> },
  { head: 'Accepted', cell: ({ accepted: count, isCut }) => countText({ count, isCut }) },
  { head: 'Completed', cell: ({ completed: count, isCut }) => countText({ count, isCut }) },
  { head: 'Failed', cell: ({ failed: count, isCut }) => countText({ count, isCut }) },
  { head: 'Cancelled', cell: ({ cancelled: count, isCut }) => countText({ count, isCut }), isWide: true },
];
