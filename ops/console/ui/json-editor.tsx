import { useState } from 'react';
import { CodeEditor, type CodeEditorProps } from './code-editor.tsx';

interface Props extends Omit<CodeEditorProps, 'language'> {
  /** When the field is left, it is laid out anew. */
  formats?: boolean;
}

/** A field for JSON, which says so when it is left with something else. */
export function JSONEditor({ formats = false, error, ...field }: Props) {
  const { value, onChange } = field;
  const [isWrong, setWrong] = useState(false);
  const check = () => {
    if (value.trim() === '') return;
    try {
      const laidOut = JSON.stringify(JSON.parse(value), null, 2);
      if (formats && laidOut !== value) onChange(laidOut);
    } catch {
      setWrong(true);
    }
  };
  return (
    <CodeEditor
      {...field}
      language="json"
      error={isWrong ? 'This is not JSON' : error}
      onBlur={check}
      onFocus={() => setWrong(false)}
    />
  );
}
