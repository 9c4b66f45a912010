import { type CoreActions, createAjv, type JsonSchema, type UISchemaElement, UPDATE_DATA } from '@jsonforms/core';
import { JsonFormsContext, JsonFormsDispatch } from '@jsonforms/react';
import { replaceEqualDeep } from '@tanstack/react-query';
import { useCallback, useLayoutEffect, useMemo, useRef } from 'react';
import { Notice } from './notice.tsx';
import { errorsOf } from './schema-faults.ts';
import { type Config, renderers } from './schema-renderers.tsx';
import type { Form } from './schema-shape.ts';
import { valueAt, withValueAt } from './schema-value.ts';
import type { Templates } from './template.ts';
import { useUnresolvedFaults } from './unresolved-faults.ts';

type Value = Readonly<Record<string, unknown>>;

interface Props {
  form: Form;
  value: Value;
  onChange: (value: Value) => void;
  /** Faults by the path of their field, its parts joined by dots. */
  faults?: ReadonlyMap<string, string>;
  /** Whether and how values may be templates. */
  templates?: Templates;
  /** Whether it asks people, and not those who build: its groups begin open, and long texts are prose. */
  isQuestion?: boolean;
}

const ajv = createAjv();
const none = new Map<string, never>();

/**
 * A form for JSON Forms: JSON Schema of the value, and a layout. The value is its caller's alone: the state of JSON Forms
 * would follow 10 ms later, and compile the schema to validate what the API validates.
 */
export function SchemaForm({ form, value, onChange, faults = none, templates, isQuestion = false }: Props) {
  const latest = useRef({ value, onChange });
  useLayoutEffect(() => {
    latest.current = { value, onChange };
  });
  const dispatch = useCallback((action: CoreActions) => {
    if (action.type !== UPDATE_DATA) return;
    const path = action.path === '' ? [] : action.path.split('.');
    const { value, onChange } = latest.current;
    // A field that sends its value again, as it is, changes nothing: callers tell a change by another value.
    const next = replaceEqualDeep(value, withValueAt(value, path, action.updater(valueAt(value, path)))) as Value;
    if (next === value) return;
    latest.current.value = next;
    onChange(next);
  }, []);
  const told = useUnresolvedFaults(faults, value);
  const additionalErrors = useMemo(() => errorsOf(told), [told]);
  const config: Config = useMemo(() => ({ templates, isQuestion }), [templates, isQuestion]);
  const core = {
    ...{ data: value, additionalErrors, ajv, validationMode: 'NoValidation' as const },
    schema: form.schema as JsonSchema,
    uischema: form.uischema as UISchemaElement,
  };
  return (
    <JsonFormsContext value={{ core, renderers, config, dispatch }}>
      <div className="described">
        <JsonFormsDispatch />
      </div>
    </JsonFormsContext>
  );
}

/** Faults that belong to no field of the form. */
export function OtherFaults({ faults }: { faults: readonly string[] }) {
  if (faults.length === 0) return null;
  return (
    <Notice tone="bad" role="alert">
      {faults.join('\n')}
    </Notice>
  );
}
