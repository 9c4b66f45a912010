import './code-editor.css';
import { Input, Skeleton } from '@mantine/core';
import { useId } from '@mantine/hooks';
import { type CSSProperties, type FocusEvent, lazy, type ReactNode, Suspense, useMemo, useRef } from 'react';
import { whenServed } from '../client/when-served.ts';
import type { CodeLanguage } from '../code/language.ts';

const CodeView = lazy(() =>
  whenServed(() => import('../code/view.tsx')).then(({ CodeView: one }) => ({ default: one })),
);

export interface CodeEditorProps {
  label: string;
  description?: ReactNode;
  error?: ReactNode;
  required?: boolean;
  placeholder?: string;
  language: CodeLanguage;
  value: string;
  onChange: (value: string) => void;
  /** Lines; a longer text scrolls. */
  minRows?: number;
  maxRows?: number;
  autoFocus?: boolean;
  onFocus?: () => void;
  onBlur?: (event: FocusEvent) => void;
}

/** A field for code or a long text, of which only what is in view is drawn. Its editor is loaded when the first one is shown. */
export function CodeEditor({ label, description, error, required = false, onFocus, onBlur, ...code }: CodeEditorProps) {
  const { language, value, onChange, placeholder = '', minRows = 4, maxRows = 20, autoFocus = false } = code;
  const id = useId();
  const field = useRef<HTMLDivElement>(null);
  const attributes = useMemo(() => {
    const describedBy = [error && typeof error !== 'boolean' && `${id}-error`, description && `${id}-description`];
    return {
      'aria-labelledby': `${id}-label`,
      'aria-describedby': describedBy.filter(Boolean).join(' '),
      'aria-required': String(required),
      'aria-invalid': String(Boolean(error)),
      ...(autoFocus && { 'data-autofocus': 'true' }),
    };
  }, [id, error, description, required, autoFocus]);
  const lines = value.slice(0, LOOKED_AT).split('\n').length;
  const rows = Math.min(Math.max(lines, minRows), maxRows);
  return (
    <Input.Wrapper
      // A label is of elements of HTML alone; this one does as a label does.
      labelElement="div"
      labelProps={{ onClick: () => field.current?.querySelector<HTMLElement>('[role="textbox"]')?.focus() }}
      {...{ id, label, description, error, required, onFocus, onBlur }}
    >
      <div
        ref={field}
        className="code-field"
        data-invalid={Boolean(error)}
        style={{ '--code-least': minRows, '--code-most': maxRows, '--code-rows': rows } as CSSProperties}
      >
        <Suspense fallback={<Skeleton className="code-rows" />}>
          <CodeView {...{ language, value, onChange, attributes, placeholder }} isFocused={autoFocus} />
        </Suspense>
      </div>
    </Input.Wrapper>
  );
}

/** For the height until the editor is there. */
const LOOKED_AT = 10_000;
