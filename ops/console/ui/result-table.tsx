import { Text } from '@mantine/core';
import { useMemo } from 'react';
import type { Schemas } from '../client/types.ts';
import { countOf } from './count.ts';
import { isObject } from './is-object.ts';
import { JSONView } from './json.tsx';
import { RowsTable } from './rows-table.tsx';

/** The response of a query: rows as a table, other values as JSON. */
export function ResultTable({ answer }: { answer: Schemas['DataQueryAnswer'] }) {
  const { dataQueryResult: result, columns, durationMs, affectedRows, truncated, isCached } = answer;
  const isRows = Array.isArray(result) && result.length > 0 && result.every(isObject);
  const names = useMemo(
    () => columns?.map(({ name }) => name) ?? (Array.isArray(result) ? Object.keys(result[0] ?? {}) : []),
    [columns, result],
  );
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
        <RowsTable label="Rows of the answer" rows={result} names={names} />
      ) : (
        <JSONView value={result} label="Answer" />
      )}
    </div>
  );
}
