import './query.css';
import { Group, Select, Text } from '@mantine/core';
import { type CSSProperties, useMemo, useState } from 'react';
import { Chart } from '../chart/chart.tsx';
import type { Drawn } from '../chart/series.ts';
import { cellText } from '../ui/cell-text.ts';
import { type Chartable, numberOf, pointsOf } from './chart-data.ts';

/** More bars would not be compared by eye. */
const MAX_BARS = 60;
const MAX_LABEL = 60;

/** Rows as a line along times, or as a bar each. */
export function RowsChart({ of: { rows, labels, numbers, times } }: { of: Chartable }) {
  const [label, setLabel] = useState(labels[0] ?? '');
  const [value, setValue] = useState(numbers.find((name) => name !== labels[0]) ?? numbers[0] ?? '');
  const parts = { rows, label, value };
  return (
    <>
      <Group gap="xs" my="xs" grow>
        <Select
          label="Along"
          size="xs"
          allowDeselect={false}
          data={[...labels]}
          value={label}
          onChange={(next) => next && setLabel(next)}
        />
        <Select
          label="Value"
          size="xs"
          allowDeselect={false}
          data={[...numbers]}
          value={value}
          onChange={(next) => next && setValue(next)}
        />
      </Group>
      {times.has(label) && rows.length > 1 ? <Line {...parts} /> : <Bars {...parts} />}
    </>
  );
}

interface Parts {
  rows: Chartable['rows'];
  label: string;
  value: string;
}

function Line({ rows, label, value }: Parts) {
  const drawn = useMemo((): Drawn => {
    const points = pointsOf(rows, label, value);
    const values = points.map((point) => point.value);
    return {
      times: points.map(({ at }) => at),
      series: [{ name: value, tone: 'busy', shape: 'line', values }],
      format: (figure) => figure.toLocaleString(),
      least: 1,
    };
  }, [rows, label, value]);
  return (
    <>
      <Chart {...drawn} />
      <Text size="xs">The figures are in the table.</Text>
    </>
  );
}

/** A table with a bar beside each figure, which says the same without it. */
function Bars({ rows, label, value }: Parts) {
  const shown = rows
    .slice(0, MAX_BARS)
    .map((row) => ({ name: cellText(row[label] ?? null), figure: numberOf(row[value]) }));
  const most = Math.max(...shown.map(({ figure }) => Math.abs(figure ?? 0)), Number.MIN_VALUE);
  return (
    <>
      <table className="list figures">
        <caption className="unseen">
          {value} by {label}
        </caption>
        <thead>
          <tr>
            <th scope="col">
              <bdi>{label}</bdi>
            </th>
            <th scope="col">
              <bdi>{value}</bdi>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ name, figure }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no key
            <tr key={at}>
              <td>
                <bdi>{name.length > MAX_LABEL ? `${name.slice(0, MAX_LABEL)}…` : name}</bdi>
              </td>
              <td>
                <span className="figure">
                  <span
                    aria-hidden="true"
                    data-below={figure !== null && figure < 0}
                    style={{ '--share': Math.abs(figure ?? 0) / most } as CSSProperties}
                  />
                  {figure === null ? '–' : figure.toLocaleString()}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > MAX_BARS && (
        <Text size="xs">
          The first {MAX_BARS} of {rows.length.toLocaleString()} rows.
        </Text>
      )}
    </>
  );
}
