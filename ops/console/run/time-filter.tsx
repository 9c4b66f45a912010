import { Select } from '@mantine/core';
import { useState } from 'react';
import { type Period, periods, type RunFilter } from '../client/run-filter.ts';
import { MomentInput } from '../ui/moment-input.tsx';

const words: Record<Period | 'range', string> = {
  hour: 'Last hour',
  day: 'Last 24 hours',
  week: 'Last 7 days',
  range: 'Between two times',
};

type Times = { [K in 'since' | 'from' | 'to']: RunFilter[K] | undefined };

/** A period before now, or any two times, each of which may be left out. */
export function TimeFilter({ filter, onSet }: { filter: RunFilter; onSet: (times: Times) => void }) {
  const { since, from, to } = filter;
  const [isRange, setRange] = useState(false);
  const showsRange = isRange || from !== undefined || to !== undefined;
  const choose = (value: string | null) => {
    setRange(value === 'range');
    const period = Object.keys(periods).find((one) => one === value) as Period | undefined;
    onSet({ since: period, from: undefined, to: undefined });
  };
  return (
    <>
      <Select
        label="Time"
        placeholder="Any"
        clearable
        clearButtonProps={{ 'aria-label': 'Any time' }}
        data={Object.entries(words).map(([value, label]) => ({ value, label }))}
        value={showsRange ? 'range' : (since ?? null)}
        onChange={choose}
      />
      {showsRange && (
        <>
          <MomentInput label="From" value={from} onSet={(at) => onSet({ since: undefined, from: at, to })} />
          <MomentInput label="To" value={to} onSet={(at) => onSet({ since: undefined, from, to: at })} />
        </>
      )}
    </>
  );
}
