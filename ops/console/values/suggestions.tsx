import { type RefObject, useEffect, useEffectEvent, useId, useRef, useState } from 'react';
import { type Completion, type Completions, completionsAt } from './complete.ts';
import { changeField, type NativeField, nativeFieldIn } from './native.ts';
import { Popup } from './popup.tsx';
import { shortText, typeOf, type Values } from './value.ts';

interface Props {
  box: RefObject<HTMLElement | null>;
  label: string;
  values: Values;
  /** Whether any are shown: what is typed is not done. */
  onShown: (isShown: boolean) => void;
}

interface Shown extends Completions {
  active: number;
}

/** Values that complete what is typed behind `{{`, in a field of the browser. */
export function Suggestions({ box, label, values, onShown }: Props) {
  const [shown, setShown] = useState<Shown>();
  const id = useId();
  const anchor = useRef<NativeField>(null);
  const isShown = shown !== undefined;
  useEffect(() => onShown(isShown), [isShown, onShown]);
  const take = (field: NativeField, { from, to }: Completions, { insert, caret }: Completion) => {
    setShown(undefined);
    changeField(field, { from, to, insert, caret: from + caret });
    setShown(undefined);
  };
  const suggest = useEffectEvent((field: NativeField) => {
    const found = completionsAt(field.value, field.selectionStart ?? field.value.length, values);
    anchor.current = field;
    setShown(found ? { ...found, active: 0 } : undefined);
  });
  const onKey = useEffectEvent((event: KeyboardEvent, field: NativeField) => {
    if (event.key === ' ' && event.ctrlKey) {
      event.preventDefault();
      return suggest(field);
    }
    if (!shown || !KEYS.includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    const chosen = shown.options[shown.active];
    if (event.key === 'Enter' && chosen) take(field, shown, chosen);
    else setShown(afterKey(event.key, shown));
  });
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const fieldOf = ({ target }: Event) => (target === nativeFieldIn(element) ? (target as NativeField) : null);
    const onInput = (event: Event) => {
      const field = fieldOf(event);
      if (field && event.isTrusted) suggest(field);
    };
    const onKeyDown = (event: KeyboardEvent) => {
      const field = fieldOf(event);
      if (field) onKey(event, field);
    };
    const close = (event: Event) => {
      if (fieldOf(event)) setShown(undefined);
    };
    element.addEventListener('input', onInput);
    element.addEventListener('keydown', onKeyDown, { capture: true });
    element.addEventListener('focusout', close);
    element.addEventListener('click', close);
    return () => {
      element.removeEventListener('input', onInput);
      element.removeEventListener('keydown', onKeyDown, { capture: true });
      element.removeEventListener('focusout', close);
      element.removeEventListener('click', close);
    };
  }, [box]);
  useEffect(() => {
    const field = nativeFieldIn(box.current);
    if (!field || !shown) return;
    const attributes = {
      'aria-autocomplete': 'list',
      'aria-controls': id,
      'aria-activedescendant': `${id}-${shown.active}`,
      // A dialog around the field is not closed by Escape then.
      'data-mantine-stop-propagation': 'true',
    };
    for (const [name, value] of Object.entries(attributes)) field.setAttribute(name, value);
    return () => {
      for (const name of Object.keys(attributes)) field.removeAttribute(name);
    };
  }, [box, id, shown]);
  if (!shown) return null;
  return (
    <Popup anchor={anchor} side="start" className="value-suggestions" onClose={() => setShown(undefined)}>
      <div role="listbox" id={id} aria-label={`Values for ${label}`} className="value-options">
        {shown.options.map((option, index) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field, which names the active option
          // biome-ignore lint/a11y/useKeyWithClickEvents: its keys are those of the field
          <div
            key={option.label}
            role="option"
            id={`${id}-${index}`}
            aria-selected={index === shown.active}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => {
              const field = nativeFieldIn(box.current);
              if (field) take(field, shown, option);
            }}
          >
            <bdi>{option.label}</bdi>
            <small>
              <bdi>{detailOf(option)}</bdi>
            </small>
          </div>
        ))}
      </div>
    </Popup>
  );
}

/** The keys of the list while it is shown. */
const KEYS: readonly string[] = ['ArrowDown', 'ArrowUp', 'Enter', 'Escape'];

function afterKey(key: string, shown: Shown): Shown | undefined {
  const { length } = shown.options;
  const step = key === 'ArrowDown' ? 1 : -1;
  if (key === 'Escape') return undefined;
  return { ...shown, active: (shown.active + step + length) % length };
}

function detailOf({ value }: Completion): string {
  return value.sample === undefined ? typeOf(value) : shortText(value.sample, 40);
}
