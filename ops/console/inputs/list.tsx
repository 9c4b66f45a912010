import { Button, Fieldset, Group, Stack, Text } from '@mantine/core';
import { useRef, useState } from 'react';
import { Icon } from '../ui/icon.tsx';
import { isObject } from '../ui/is-object.ts';
import { JSONControl } from '../ui/schema-control.tsx';
import { type Declarer, declarers } from './definition.ts';
import { InputRow, nameOf } from './row.tsx';

interface Props {
  of?: Declarer;
  definitions: unknown;
  onChange: (definitions: readonly unknown[]) => void;
  /** Faults by dotted paths that begin with the index of an input; one of the whole list has the empty path. */
  faults: ReadonlyMap<string, string>;
  disabled: boolean;
}

/** The declared inputs of a workflow or a query: as a list, or as the JSON that is stored. */
export function InputList({ of = 'workflow', definitions, onChange, faults, disabled }: Props) {
  const all: readonly unknown[] = Array.isArray(definitions) ? definitions : [];
  const [isJSON, setJSON] = useState(false);
  const [said, setSaid] = useState('');
  const [added, setAdded] = useState<number>();
  const ids = useIDs(all.length);
  const taken = new Map<unknown, number>();
  for (const key of all.map(keyOf)) taken.set(key, (taken.get(key) ?? 0) + 1);
  const add = () => {
    setAdded(ids.add());
    // A run without a value that it needs ends well and does nothing, which is harder to notice than a refusal.
    onChange([...all, { key: freeName(taken), type: 'string', ...(of === 'workflow' && { required: true }) }]);
  };
  const move = (from: number, to: number) => {
    ids.move(from, to);
    onChange(moved(all, from, to));
    // An element that is moved in the document loses the focus.
    const focused = document.activeElement;
    requestAnimationFrame(() => focused instanceof HTMLElement && focused.focus());
    setSaid(`${nameOf(all[from], from)} is now ${to + 1} of ${all.length}`);
  };
  const remove = (index: number) => {
    ids.remove(index);
    onChange(all.toSpliced(index, 1));
    setSaid(`${nameOf(all[index], index)} is removed`);
  };
  const ofList = faults.get('');
  return (
    <Fieldset legend="Inputs" p="xs">
      <Stack gap={4}>
        <Text size="xs">{declarers[of].given}</Text>
        {isJSON ? (
          <JSONControl
            label="Inputs as JSON"
            description={undefined}
            error={ofList ?? [...faults].map(([path, message]) => `${path}: ${message}`)[0]}
            required={false}
            disabled={disabled}
            isCode
            value={all}
            onChange={(next) => onChange(Array.isArray(next) ? next : next === undefined ? [] : all)}
          />
        ) : (
          <>
            {all.length === 0 && (
              <Text size="sm" c="dimmed">
                {declarers[of].none}
              </Text>
            )}
            {all.map((definition, index) => (
              <InputRow
                key={ids.at(index)}
                {...{ of, definition, index, disabled }}
                count={all.length}
                isNew={ids.at(index) === added}
                isTaken={(taken.get(keyOf(definition)) ?? 0) > 1}
                faultOf={(field) => faults.get(field === '' ? `${index}` : `${index}.${field}`)}
                hasFault={[...faults.keys()].some((path) => `${path}.`.startsWith(`${index}.`))}
                onChange={(next) => onChange(all.with(index, next))}
                onMove={(to) => move(index, to)}
                onRemove={() => remove(index)}
              />
            ))}
            {ofList && <div className="fault">{ofList}</div>}
          </>
        )}
        <span role="status" className="unseen">
          {said}
        </span>
        <Group gap="xs">
          {!disabled && !isJSON && (
            <Button size="compact-sm" variant="default" leftSection={<Icon name="plus" size={12} />} onClick={add}>
              Add an input
            </Button>
          )}
          <Button size="compact-sm" variant="subtle" onClick={() => setJSON(!isJSON)}>
            {isJSON ? 'Show as a list' : 'Show as JSON'}
          </Button>
        </Group>
      </Stack>
    </Fieldset>
  );
}

function keyOf(definition: unknown): unknown {
  return isObject(definition) ? definition.key : undefined;
}

function freeName(taken: ReadonlyMap<unknown, number>): string {
  let number = 1;
  while (taken.has(`input${number}`)) number += 1;
  return `input${number}`;
}

function moved<T>(list: readonly T[], from: number, to: number): T[] {
  return list.toSpliced(from, 1).toSpliced(to, 0, ...list.slice(from, from + 1));
}

/** Ids of the rows, which go with them when they are moved: so a row keeps the focus, and what is open in it. */
function useIDs(count: number) {
  const ids = useRef<number[]>([]);
  const next = useRef(0);
  const fresh = () => {
    next.current += 1;
    return next.current;
  };
  while (ids.current.length < count) ids.current.push(fresh());
  ids.current.length = count;
  return {
    at: (index: number) => ids.current[index] ?? index,
    add() {
      const id = fresh();
      ids.current.push(id);
      return id;
    },
    move(from: number, to: number) {
      ids.current = moved(ids.current, from, to);
    },
    remove(index: number) {
      ids.current = ids.current.toSpliced(index, 1);
    },
  };
}
