import { Select } from '@mantine/core';
import { type RunFilter, runOrigins } from '../client/run-filter.ts';
import { TextFilter } from '../ui/text-filter.tsx';
import { codeChoices } from './error-words.ts';
import { originWords } from './origin.ts';

interface Props {
  filter: RunFilter;
  onSet: (change: { [K in 'origin' | 'tag' | 'errorCode']?: RunFilter[K] | undefined }) => void;
}

/** The filters of runs that are used less. */
export function MoreFilters({ filter, onSet }: Props) {
  return (
    <>
      <Select
        label="Origin"
        placeholder="Any"
        clearable
        clearButtonProps={{ 'aria-label': 'Any origin' }}
        data={runOrigins.map((value) => ({ value, label: originWords[value] }))}
        value={filter.origin ?? null}
        onChange={(value) => onSet({ origin: runOrigins.find((one) => one === value) })}
      />
      <TextFilter label="Tag" value={filter.tag} onSet={(tag) => onSet({ tag })} />
      <ErrorFilter value={filter.errorCode} onSet={(errorCode) => onSet({ errorCode })} />
    </>
  );
}

/** The errors in words; an address may name a code that has none. */
function ErrorFilter({ value, onSet }: { value: string | undefined; onSet: (code: string | undefined) => void }) {
  const isKnown = value === undefined || codeChoices.some((one) => one.value === value);
  return (
    <Select
      label="Error"
      placeholder="Any"
      clearable
      clearButtonProps={{ 'aria-label': 'Any error' }}
      searchable
      data={isKnown ? codeChoices : [...codeChoices, { value, label: value }]}
      value={value ?? null}
      onChange={(code) => onSet(code ?? undefined)}
    />
  );
}
