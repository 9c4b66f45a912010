import '@mantine/core/styles/FloatingIndicator.css';
import '@mantine/core/styles/SegmentedControl.css';
import { Button, Checkbox, Group, SegmentedControl, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { calledWorkflowsRead } from '../client/called-workflows.ts';
import type { PickedType } from '../client/references.ts';
import { ManyPicker } from '../ui/picker.tsx';
import { assetsOf, type Grants, isWithin, missingFor, needing, type Scope, scopeOf, withNeeded } from './grants.ts';
import { inWords, lowered } from './permission-words.ts';

interface Props {
  tenantID: string;
  value: Grants;
  onChange: (change: (before: Grants) => Grants) => void;
  isReadOnly?: boolean;
  catalogue: readonly string[];
  /** The name of the permission's type. */
  about: string;
  permission: string;
  /** The type, where single assets may be chosen. */
  single: PickedType | undefined;
}

/** One permission: on nothing, on everything of its type, or on chosen assets. What it needs is ticked with it. */
export function PermissionRow(props: Props) {
  const { value, onChange, isReadOnly = false, catalogue, about, permission, single } = props;
  const [isChoosing, setChoosing] = useState(false);
  const granted = scopeOf(value, permission);
  const isIncluded = isWithin(value, permission);
  const scope: Scope = granted === 'none' && isChoosing ? 'these' : granted;
  const words = inWords(permission);
  const set = (next: Scope) => {
    setChoosing(next === 'these');
    onChange((before) => withNeeded(before, permission, { scope: next, catalogue }));
  };
  const dependents = needing(value, permission, catalogue).map((one) => lowered(inWords(one)));
  return (
    <div>
      {single ? (
        <Group justify="space-between" gap={6}>
          <Text size="sm" flex="1 1 8rem">
            {words}
          </Text>
          <SegmentedControl
            size="xs"
            flex="none"
            aria-label={`${about}: ${words}`}
            disabled={isReadOnly || isIncluded}
            data={[
              { value: 'none', label: 'No' },
              { value: 'all', label: 'On all' },
              { value: 'these', label: 'On these' },
            ]}
            value={scope}
            onChange={(next) => set(next as Scope)}
          />
        </Group>
      ) : (
        <Checkbox
          label={words}
          checked={scope !== 'none'}
          disabled={isReadOnly || isIncluded}
          onChange={({ currentTarget: { checked } }) => set(checked ? 'all' : 'none')}
        />
      )}
      {single && scope === 'these' && <Chosen {...props} type={single} words={words} />}
      {scope !== 'none' && !isIncluded && dependents.length > 0 && (
        <Text size="xs">Comes with: {dependents.join(', ')}</Text>
      )}
      {!isReadOnly && !isIncluded && <Missing {...props} />}
    </div>
  );
}

/** The assets of a permission. A workflow that runs others needs the permission on these as well. */
function Chosen({ tenantID, value, onChange, isReadOnly = false, catalogue, permission, ...props }: ChosenProps) {
  const queries = useQueryClient();
  const [added, setAdded] = useState<string[]>([]);
  const ids = assetsOf(value, permission);
  const add = (more: readonly string[]) =>
    onChange((before) => {
      const all = [...new Set([...assetsOf(before, permission), ...more])];
      return withNeeded(before, permission, { scope: 'these', ids: all, catalogue });
    });
  const set = async (next: string[]) => {
    onChange((before) => withNeeded(before, permission, { scope: 'these', ids: next, catalogue }));
    const fresh = next.filter((id) => !ids.includes(id));
    if (permission !== 'workflow.execute' || fresh.length === 0) return;
    // Without the right to read it, the caller may not grant anything on it either, and the API says so.
    const called = await queries.fetchQuery(calledWorkflowsRead(tenantID, fresh)).catch(() => []);
    const more = called.filter(({ id }) => !next.includes(id));
    if (more.length === 0) return;
    setAdded(more.map(({ title }) => title));
    add(more.map(({ id }) => id));
  };
  return (
    <>
      <ManyPicker
        types={[props.type]}
        label={`${props.words}: on these`}
        placeholder="Search by title"
        error={!isReadOnly && ids.length === 0 && 'Choose at least one'}
        disabled={isReadOnly}
        canCreate={false}
        isLabelHidden
        value={ids}
        onChange={(next) => void set(next)}
      />
      {added.length > 0 && (
        <Text size="xs" role="status">
          Added, because it is started as a part of what was chosen: <bdi>{added.join(', ')}</bdi>
        </Text>
      )}
    </>
  );
}

type ChosenProps = Props & { type: PickedType; words: string };

/** Permissions that this one needs and the role lacks, as roles that were made by the API may. */
function Missing({ value, onChange, catalogue, permission }: Props) {
  const missing = missingFor(value, permission, catalogue);
  if (missing.length === 0) return null;
  const add = () =>
    onChange((before) => {
      const ids = assetsOf(before, permission);
      return withNeeded(before, permission, { scope: scopeOf(before, permission), ids, catalogue });
    });
  return (
    <Group gap={6}>
      <Text size="xs">Of little use without: {missing.map((one) => lowered(inWords(one))).join(', ')}</Text>
      <Button size="compact-xs" variant="default" onClick={add}>
        Add
      </Button>
    </Group>
  );
}
