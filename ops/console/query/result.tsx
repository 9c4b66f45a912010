import '@mantine/core/styles/FloatingIndicator.css';
import '@mantine/core/styles/SegmentedControl.css';
import { SegmentedControl } from '@mantine/core';
import { useMemo, useState } from 'react';
import type { QueryAnswer } from '../client/queries-of-tenant.ts';
import { ResultTable } from '../ui/result-table.tsx';
import { RowsChart } from './chart.tsx';
import { chartable } from './chart-data.ts';

type View = 'table' | 'chart';

/** The answer of a query: as a table, or where it has figures as a chart. */
export function Result({ answer }: { answer: QueryAnswer }) {
  const [view, setView] = useState<View>('table');
  const drawn = useMemo(() => chartable(answer.dataQueryResult), [answer]);
  return (
    <div>
      {drawn && (
        <SegmentedControl
          size="xs"
          mb="xs"
          aria-label="Show the result as"
          value={view}
          onChange={(next) => setView(next as View)}
          data={[
            { value: 'table', label: 'Table' },
            { value: 'chart', label: 'Chart' },
          ]}
        />
      )}
      {drawn && view === 'chart' ? <RowsChart of={drawn} /> : <ResultTable answer={answer} />}
    </div>
  );
}
