import type { ReactNode } from 'react';
import type { Syntax } from '../values/path.ts';
import type { Layout, Schema } from './schema-shape.ts';
import type { Templates } from './template.ts';

/** Props that every field of a form is given. */
export interface ControlProps {
  label: string;
  description: ReactNode;
  error: ReactNode;
  required: boolean;
  disabled: boolean;
  value: unknown;
  onChange: (value: unknown) => void;
}

/** A field as JSON Forms asks for it. */
export interface Drawn extends ControlProps {
  description: string | undefined;
  error: string | undefined;
  schema: Schema;
  element: Layout & { scope: string };
  path: string;
  /** The fault of a part of its value. */
  within: string | undefined;
  /** For a field with the inputs of what another one names: the types of that, and the value of the other field. */
  ofTypes: string | undefined;
  of: unknown;
  /** Whether and how values may be templates. */
  templates: Templates | undefined;
  /** How values of the run are named in it; undefined where none can be. */
  syntax: Syntax | undefined;
  /** Whether secrets may be put into it. */
  takesSecrets: boolean;
  /** Whether long texts are those of people, and no code. */
  isProse: boolean;
}
