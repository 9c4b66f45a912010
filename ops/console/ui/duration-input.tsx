import { Group, Input, NativeSelect } from '@mantine/core';
import { type ReactNode, useId, useState } from 'react';
import { durationIn, secondsOf, type Unit, units } from './duration.ts';

interface Props {
  label: string;
  description?: ReactNode;
  error?: ReactNode;
  disabled?: boolean;
  /** The duration that holds while it is empty, such as `7 days`. */
  hint?: string;
  /** The unit of an empty field without a hint. */
  unit?: Unit;
  value: unknown;
  onChange: (value: string | number | undefined) => void;
  /** Whether the API takes a number of seconds alone. */
  inSeconds?: boolean;
}

/** A duration: a number and its unit. A text that is neither goes to the API, which refuses it. */
export function DurationInput(props: Props) {
  const { label, description, error, disabled = false, value, onChange, hint = '', inSeconds = false } = props;
  const id = useId();
  const usual = durationIn(hint);
  const given = value === undefined ? undefined : durationIn(value);
  const [chosen, setChosen] = useState<Unit>(usual?.unit ?? props.unit ?? 'seconds');
  // The number alone would forget the point of `1.`, which may become `1.5`.
  const [typed, setTyped] = useState<string>();
  const unit = given?.unit ?? chosen;
  const amount = typed ?? given?.amount ?? (value === undefined ? '' : String(value));
  const put = (next: string, by: Unit) => {
    setTyped(next);
    setChosen(by);
    if (next.trim() === '') return onChange(undefined);
    const isNumber = /^\d+(\.\d+)?$/.test(next.trim());
    if (!isNumber) return onChange(next);
    onChange(inSeconds ? secondsOf({ amount: next, unit: by }) : `${next.trim()} ${by}`);
  };
  const shownUnit = typed === undefined ? unit : chosen;
  return (
    <Input.Wrapper {...{ id, label, description, error }}>
      <Group gap={6} wrap="nowrap" align="end">
        <Input
          id={id}
          flex={1}
          error={Boolean(error)}
          disabled={disabled}
          inputMode="decimal"
          placeholder={usual?.amount ?? ''}
          value={amount}
          onFocus={() => typed === undefined && setChosen(unit)}
          onChange={({ currentTarget }) => put(currentTarget.value, shownUnit)}
        />
        <NativeSelect
          aria-label={`Unit of ${label}`}
          w={116}
          disabled={disabled}
          data={units.map((one) => one.value)}
          value={shownUnit}
          onChange={({ currentTarget }) => put(amount, currentTarget.value as Unit)}
        />
      </Group>
    </Input.Wrapper>
  );
}
