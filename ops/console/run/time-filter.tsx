import { Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { type Period, periods, type RunFilter } from './filter.ts';

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
          <Moment label="From" value={from} onSet={(at) => onSet({ since: undefined, from: at, to })} />
          <Moment label="To" value={to} onSet={(at) => onSet({ since: undefined, from, to: at })} />
        </>
      )}
    </>
  );
}

interface MomentProps {
  label: string;
  value: string | undefined;
  onSet: (at: string | undefined) => void;
}

/** In the time of the browser. */
function Moment({ label, value, onSet }: MomentProps) {
  return (
    <TextInput
      type="datetime-local"
      label={label}
      value={value === undefined ? '' : localText(new Date(value))}
      onChange={({ currentTarget: { value: typed } }) => {
        const at = new Date(typed);
        onSet(Number.isNaN(at.getTime()) ? undefined : at.toISOString());
      }}
    />
  );
}

/** As the field takes it: without a zone. */
function localText(at: Date): string {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
