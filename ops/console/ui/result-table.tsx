import { Button, Group, Modal, Text } from '@mantine/core';
import { useState } from 'react';
import type { Schemas } from '../client/types.ts';
import { countOf } from './count.ts';
import { JSONView } from './json.tsx';
import { isObject } from './schema-parts.ts';

/** Rows in the page at once: more make it slow. */
const ROWS = 200;
/** Characters of a cell that are shown: its width has room for no more. */
const MAX_CELL = 50;

/** What a query answered: rows as a table, other values as JSON. */
export function ResultTable({ answer }: { answer: Schemas['DataQueryAnswer'] }) {
  const { dataQueryResult: result, columns, durationMs, affectedRows, truncated, isCached } = answer;
  const isRows = Array.isArray(result) && result.length > 0 && result.every(isObject);
  const said = [
    `${Math.round(durationMs)} ms`,
    ...(Array.isArray(result) ? [countOf(result.length, 'row')] : []),
    ...(affectedRows === undefined ? [] : [`${countOf(affectedRows, 'row')} changed`]),
    ...(truncated ? ['the answer is cut'] : []),
    ...(isCached ? ['from the cache'] : []),
  ];
  return (
    <div>
      <Text size="sm" role="status">
        {said.join(', ')}
      </Text>
      {isRows ? (
        <RowsTable
          label="Rows of the answer"
          rows={result}
          names={columns?.map(({ name }) => name) ?? Object.keys(result[0] ?? {})}
        />
      ) : (
        <JSONView value={result} label="Answer" />
      )}
    </div>
  );
}

interface RowsProps {
  label: string;
  rows: readonly Readonly<Record<string, unknown>>[];
  names: readonly string[];
}

export function RowsTable({ label, rows, names }: RowsProps) {
  const [from, setFrom] = useState(0);
  const to = Math.min(from + ROWS, rows.length);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section className="json" tabIndex={0} aria-label={label}>
        <table className="list">
          <caption className="unseen">{label}</caption>
          <thead>
            <tr>
              {names.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(from, to).map((row, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows of an answer have no key, and stay in their order
              <tr key={index}>
                {names.map((name) => (
                  <td key={name} className="clip">
                    <Cell name={name} value={row[name]} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {rows.length > ROWS && (
        <Group gap="xs" mt="xs">
          <Button size="xs" variant="default" disabled={from === 0} onClick={() => setFrom(from - ROWS)}>
            Before
          </Button>
          <Button size="xs" variant="default" disabled={to === rows.length} onClick={() => setFrom(to)}>
            Next
          </Button>
          <Text size="sm">
            {(from + 1).toLocaleString()} to {to.toLocaleString()}
          </Text>
        </Group>
      )}
    </>
  );
}

/** A value of a row. The text `null` does not look like NULL. */
export function Cell({ name, value }: { name: string; value: unknown }) {
  if (value === null) return <span className="null">NULL</span>;
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > MAX_CELL ? <CutCell name={name} value={value} text={text} /> : <bdi>{text}</bdi>;
}

function CutCell({ name, value, text }: { name: string; value: unknown; text: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="plain link cut" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <bdi>{text.slice(0, MAX_CELL)}</bdi> … ({text.length.toLocaleString()} characters)
      </button>
      {isOpen && (
        <Modal opened size="xl" title={name} onClose={() => setOpen(false)}>
          <JSONView value={value} label={`Value of ${name}`} />
        </Modal>
      )}
    </>
  );
}
