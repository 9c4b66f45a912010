import '@mantine/core/styles/FloatingIndicator.css';
import '@mantine/core/styles/SegmentedControl.css';
import { SegmentedControl, TextInput } from '@mantine/core';
import { type ReactNode, useRef, useState } from 'react';
import { TakesValues } from '../values/takes-values.tsx';
import type { ControlProps } from './drawn.ts';
import { computed, isTemplate, type Templates } from './template.ts';

interface Props extends ControlProps {
  /** Absent: only values can be given. */
  root: Templates['root'] | undefined;
  /** Whether a value of the run can be chosen in place of a fixed one; absent: it can. */
  canPick?: boolean;
  /** Draws the field for a value. */
  children: (field: ControlProps) => ReactNode;
}

type Mode = 'value' | 'expression';

/** A field for a value, or for an expression that computes it. Each is kept while the other is looked at. */
export function OrExpression({ root, canPick = true, children, ...field }: Props) {
  const { label, description, error, required, disabled, value, onChange } = field;
  const [asked, setAsked] = useState<Mode>('value');
  const left = useRef<Partial<Record<Mode, unknown>>>({});
  // A template that is typed into the field for a value goes on in that for an expression.
  const isTyped = useRef(false);
  if (root === undefined) return children(field);
  const mode = isTemplate(value) ? 'expression' : asked;
  const change = (next: Mode) => {
    left.current[mode] = value;
    setAsked(next);
    onChange(left.current[next]);
  };
  return (
    <div className="or-expression">
      <SegmentedControl
        className="mode"
        size="xs"
        aria-label={`How ${label} is given`}
        disabled={disabled}
        data={[
          { value: 'value', label: 'Value' },
          { value: 'expression', label: 'Expression' },
        ]}
        value={mode}
        onChange={(next) => change(next as Mode)}
      />
      {mode === 'value' ? (
        <TakesValues {...{ label, value }} disabled={disabled || !canPick} onPick={onChange}>
          {children({
            ...field,
            onChange: (next) => {
              isTyped.current = isTemplate(next);
              onChange(next);
            },
          })}
        </TakesValues>
      ) : (
        <TakesValues {...{ label, value, disabled }}>
          <TextInput
            autoFocus={isTyped.current}
            {...{ label, error, required, disabled }}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
            description={
              <>
                {description}
                {description && '. '}
                {computed[root]}
              </>
            }
            placeholder={`{{${root}.…}}`}
            value={typeof value === 'string' ? value : ''}
            onChange={({ currentTarget }) => {
              // While it is typed, it is no template yet.
              setAsked('expression');
              onChange(currentTarget.value || undefined);
            }}
            onFocus={({ currentTarget }) => {
              if (isTyped.current)
                currentTarget.setSelectionRange(currentTarget.value.length, currentTarget.value.length);
              isTyped.current = false;
            }}
          />
        </TakesValues>
      )}
    </div>
  );
}
