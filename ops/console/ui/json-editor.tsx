import { type FocusEvent, useState } from 'react';
import { LossyNumber, parseExact } from '#shared/core/lossless-json.ts';
import { CodeEditor, type CodeEditorProps } from './code-editor.tsx';

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
      const laidOut = JSON.stringify(parseExact(value), null, 2);
      // A button that is pressed must not move from under the pointer.
      const isPressed = relatedTarget instanceof HTMLButtonElement;
      if (formats && !isPressed && laidOut !== value) onChange(laidOut);
    } catch (failure) {
      setFault(failure instanceof LossyNumber ? failure.message : 'This is not JSON');
    }
  };
  return (
    <CodeEditor {...field} language="json" error={fault ?? error} onBlur={check} onFocus={() => setFault(undefined)} />
  );
}
