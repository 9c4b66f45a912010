import { type FocusEvent, useState } from 'react';
import { CodeEditor, type CodeEditorProps } from './code-editor.tsx';
import { parseJSON } from './json-text.ts';

interface Props extends Omit<CodeEditorProps, 'language'> {
  /** When the field is left, it is laid out anew. */
  formats?: boolean;
}

/** A field for JSON, which says so when it is left with something else. */
export function JSONEditor({ formats = false, error, ...field }: Props) {
  const { value, onChange } = field;
  const [fault, setFault] = useState<string>();
  const check = ({ relatedTarget }: FocusEvent) => {
    if (value.trim() === '') return;
    try {
      const laidOut = JSON.stringify(parseJSON(value), null, 2);
      if (formats && !(relatedTarget instanceof HTMLButtonElement) && laidOut !== value) onChange(laidOut);
    } catch (failure) {
      onceReleased(relatedTarget, () => setFault((failure as Error).message));
    }
  };
  return (
    <CodeEditor {...field} language="json" error={fault ?? error} onBlur={check} onFocus={() => setFault(undefined)} />
  );
}

/** A button that is pressed must not move from under the pointer: what would move it waits until the pointer is up. */
function onceReleased(pressed: EventTarget | null, act: () => void): void {
  const isPressed = pressed instanceof HTMLElement && pressed.matches(':active');
  if (isPressed) addEventListener('pointerup', () => setTimeout(act), { once: true });
  else act();
}
