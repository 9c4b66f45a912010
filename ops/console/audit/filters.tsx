import { Paper, Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMay } from '../client/may.ts';
import { membersRead } from '../client/members.ts';
import { TextFilter } from '../ui/text-filter.tsx';
import { type AuditFilter, auditMethods, auditTypes } from './filter.ts';

interface Props {
  tenantID: string;
  filter: AuditFilter;
  onFilter: (filter: AuditFilter) => void;
}

export function Filters({ tenantID, filter, onFilter }: Props) {
  const may = useMay();
  const { data: members = new Map<string, string>() } = useQuery({
    ...membersRead(tenantID),
    enabled: may('user.list'),
  });
  const set = (change: { [K in keyof AuditFilter]: AuditFilter[K] | undefined }) => {
    const next = { ...filter, ...change };
    onFilter(Object.fromEntries(Object.entries(next).filter(([, value]) => value !== undefined)));
  };
  const people = [...members].map(([value, label]) => ({ value, label }));
  const isUnknown = filter.userID !== undefined && !members.has(filter.userID);
  return (
    <search aria-label="Filter the audit trail">
      <Paper withBorder p="sm" mb="md" className="filters">
        <Choice
          label="Actor"
          data={isUnknown ? [...people, { value: filter.userID ?? '', label: filter.userID ?? '' }] : people}
          value={filter.userID}
          onSet={(userID) => set({ userID })}
        />
        <Choice
          label="Action"
          data={auditTypes.map((value) => ({ value, label: wordsOf(value) }))}
          value={filter.type}
          onSet={(type) => set({ type: auditTypes.find((one) => one === type) })}
        />
        <Choice
          label="Method"
          data={auditMethods.map((value) => ({ value, label: value }))}
          value={filter.method}
          onSet={(method) => set({ method: auditMethods.find((one) => one === method) })}
        />
        <TextFilter label="Path begins with" value={filter.path} onSet={(path) => set({ path })} />
        <TextFilter label="Status or outcome" value={filter.status} onSet={(status) => set({ status })} />
        <TextFilter label="Id of an asset" value={filter.assetID} onSet={(assetID) => set({ assetID })} />
        <TextFilter label="From" value={filter.from} onSet={(from) => set({ from: momentOf(from) })} />
        <TextFilter label="To" value={filter.to} onSet={(to) => set({ to: momentOf(to) })} />
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

/** A date or a moment as people write it, in the browser's time zone; the API tells of one that is none. */
function momentOf(typed: string | undefined): string | undefined {
  const at = Date.parse(typed ?? '');
  return Number.isNaN(at) ? typed : new Date(at).toISOString();
}
