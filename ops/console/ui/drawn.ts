import type { ReactNode } from 'react';
import type { Choice, Layout, Schema } from './schema-shape.ts';

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
  /** Assets that the field can name, if its value is the id of another asset. */
  choices: readonly Choice[] | undefined;
  /** Whether long texts are those of people, and no code. */
  isProse: boolean;
}
