import { ActionIcon, Checkbox, Group, Select, Stack, TextInput } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { Icon } from '../ui/icon.tsx';
import { InputControl } from '../ui/input-control.tsx';
import { JSONControl, LinesControl } from '../ui/schema-control.tsx';
import { Words } from '../ui/words.tsx';
import {
  type Declarer,
  type Definition,
  declarers,
  isListed,
  othersIn,
  shownInput,
  summaryOf,
  typeOf,
  types,
  withDefault,
  withText,
  withType,
} from './definition.ts';

interface Props {
  of: Declarer;
  definition: unknown;
  index: number;
  count: number;
  /** The name of another input, too. */
  isTaken: boolean;
  disabled: boolean;
  /** New ones begin open. */
  isNew: boolean;
  faultOf: (field: string) => string | undefined;
  hasFault: boolean;
  onChange: (definition: unknown) => void;
  onMove: (to: number) => void;
  onRemove: () => void;
}

/** One declared input: a line that says what it is, and its fields below. */
export function InputRow(props: Props) {
  const { definition, index, count, isNew, hasFault, disabled, onMove, onRemove } = props;
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (!box.current || !(isNew || hasFault)) return;
    box.current.open = true;
    if (isNew) box.current.querySelector('input')?.select();
  }, [isNew, hasFault]);
  const name = nameOf(definition, index);
  return (
    <details ref={box} className="group input-row" aria-label={`Input ${name}`}>
      <summary>
        <code>{name}</code> <span className="note">{summaryOf(definition)}</span>
      </summary>
      <Stack gap="xs" pb="xs">
        {isListed(definition) ? (
          <ListedInput {...props} definition={definition} />
        ) : (
          <JSONControl
            label="Definition"
            description="The list cannot show it: it stays as it is written"
            error={props.faultOf('')}
            required={false}
            disabled={disabled}
            isCode
            value={definition}
            onChange={props.onChange}
          />
        )}
        {!disabled && (
          <Group gap={4} justify="flex-end">
            <Small label={`Move ${name} up`} icon="↑" isOff={index === 0} onClick={() => onMove(index - 1)} />
            <Small label={`Move ${name} down`} icon="↓" isOff={index === count - 1} onClick={() => onMove(index + 1)} />
            <ActionIcon variant="default" aria-label={`Remove ${name}`} title={`Remove ${name}`} onClick={onRemove}>
              <Icon name="cross" size={12} />
            </ActionIcon>
          </Group>
        )}
      </Stack>
    </details>
  );
}

function ListedInput({ of, definition, isTaken, disabled, faultOf, onChange }: Props & { definition: Definition }) {
  const words = declarers[of];
  const { key, required, title, label, description, options } = definition;
  const type = typeOf(definition);
  const input = shownInput(definition);
  const set = (change: Definition) => onChange({ ...definition, ...change });
  const others = othersIn(definition);
  const fault = (field: string) => faultOf(field) && <Words text={faultOf(field) ?? ''} />;
  return (
    <>
      <div className="fields">
        <TextInput
          label="Name"
          disabled={disabled}
          value={String(key)}
          error={fault('key') ?? (isTaken && 'Another input has this name')}
          onChange={({ currentTarget }) => set({ key: currentTarget.value })}
        />
        <Select
          label="Type"
          disabled={disabled}
          allowDeselect={false}
          searchable
          data={[...types]}
          value={type}
          error={fault('type')}
          onChange={(next) => next && onChange(withType(definition, next))}
        />
      </div>
      <span className="note breaks">
        {words.readers} <code>{words.expressionOf(String(key))}</code>
      </span>
      {type === 'choice' && (
        <LinesControl
          label="Options"
          description={undefined}
          error={fault('options')}
          required
          disabled={disabled}
          areNumbers={false}
          value={options}
          onChange={(next) => set({ options: next ?? [] })}
        />
      )}
      <Checkbox
        label="Required"
        description={words.required}
        disabled={disabled}
        checked={required === true}
        onChange={({ currentTarget }) => set({ required: currentTarget.checked })}
      />
      {input && (
        <InputControl
          key={type}
          input={input}
          label="Default"
          description="Taken where no value is given"
          error={fault('default') ?? fault('defaultValue')}
          required={false}
          disabled={disabled}
          value={definition.default ?? definition.defaultValue}
          onChange={(value) => onChange(withDefault(definition, value))}
        />
      )}
      <TextInput
        label="Label"
        description="Above its field in forms; empty: the name"
        disabled={disabled}
        value={String(title ?? label ?? '')}
        onChange={({ currentTarget }) =>
          onChange(withText(withText(definition, 'label', ''), 'title', currentTarget.value))
        }
      />
      <TextInput
        label="Description"
        description="Below its label in forms"
        disabled={disabled}
        value={String(description ?? '')}
        onChange={({ currentTarget }) => onChange(withText(definition, 'description', currentTarget.value))}
      />
      {others.length > 0 && (
        <span className="note breaks">
          It also has {others.join(', ')}, which {others.length === 1 ? 'stays' : 'stay'}
        </span>
      )}
    </>
  );
}

function Small({ label, icon, isOff, onClick }: { label: string; icon: string; isOff: boolean; onClick: () => void }) {
  return (
    <ActionIcon variant="default" aria-label={label} title={label} disabled={isOff} onClick={onClick}>
      {icon}
    </ActionIcon>
  );
}

export function nameOf(definition: unknown, index: number): string {
  const key = typeof definition === 'object' && definition !== null && 'key' in definition ? definition.key : '';
  return typeof key === 'string' && key !== '' ? key : `${index + 1}`;
}
