import { Button, Checkbox, Paper, Select } from '@mantine/core';
import { useState } from 'react';
import { type AuditFilter, auditMethods, auditTypes } from '../client/audit-filter.ts';
import { MomentInput } from '../ui/moment-input.tsx';
import { Picker } from '../ui/picker.tsx';
import { TextFilter } from '../ui/text-filter.tsx';

interface Props {
  filter: AuditFilter;
  onFilter: (filter: AuditFilter) => void;
}

export function Filters({ filter, onFilter }: Props) {
  const set = (change: { [K in keyof AuditFilter]: AuditFilter[K] | undefined }) => {
    const next = { ...filter, ...change };
    onFilter(Object.fromEntries(Object.entries(next).filter(([, value]) => value !== undefined)));
  };
  const [isMore, setMore] = useState(false);
  const hasMore = Boolean(filter.method || filter.path || filter.status || filter.assetID);
  return (
    <search aria-label="Filter the audit trail">
      <Paper withBorder p="sm" mb="md" className="filters">
        <Picker
          types={['user']}
          label="Actor"
          placeholder="Any"
          isFilter
          value={filter.userID}
          onChange={(userID) => set({ userID })}
        />
        <Choice
          label="Action"
          data={auditTypes.map((value) => ({ value, label: wordsOf(value) }))}
          value={filter.type}
          onSet={(type) => set({ type: auditTypes.find((one) => one === type) })}
        />
        <MomentInput label="From" value={filter.from} onSet={(from) => set({ from })} />
        <MomentInput label="To" value={filter.to} onSet={(to) => set({ to })} />
        {isMore || hasMore ? (
          <>
            <Choice
              label="Method"
              data={auditMethods.map((value) => ({ value, label: value }))}
              value={filter.method}
              onSet={(method) => set({ method: auditMethods.find((one) => one === method) })}
            />
            <TextFilter label="Path begins with" value={filter.path} onSet={(path) => set({ path })} />
            <TextFilter label="Status or outcome" value={filter.status} onSet={(status) => set({ status })} />
            <TextFilter label="Id of an asset" value={filter.assetID} onSet={(assetID) => set({ assetID })} />
          </>
        ) : (
          <Button variant="default" onClick={() => setMore(true)}>
            More filters
          </Button>
        )}
        <Checkbox
          label="Changes only"
          py={8}
          checked={filter.changes === true}
          onChange={({ currentTarget: { checked } }) => set({ changes: checked })}
        />
      </Paper>
    </search>
  );
}

interface ChoiceProps {
  label: string;
  data: { value: string; label: string }[];
  value: string | undefined;
  onSet: (value: string | undefined) => void;
}

function Choice({ label, data, value, onSet }: ChoiceProps) {
  return (
    <Select
      label={label}
      placeholder="Any"
      clearable
      clearButtonProps={{ 'aria-label': `Any ${label.toLowerCase()}` }}
      searchable
      data={data}
      value={value ?? null}
      onChange={(chosen) => onSet(chosen ?? undefined)}
    />
  );
}

export function wordsOf(type: string): string {
  return type.charAt(0) + type.slice(1).toLowerCase().replaceAll('_', ' ');
}
