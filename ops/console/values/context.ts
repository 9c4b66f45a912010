import { type ComponentType, createContext, type ReactNode } from 'react';
import type { Syntax } from './path.ts';
import type { Values } from './value.ts';

export interface FieldProps {
  label: string;
  value: unknown;
  syntax?: Syntax | undefined;
  /** Whether secrets may be put into it. */
  takesSecrets?: boolean;
  /** Takes the expression of a chosen value in place of all that is there. Without it, it is put where the caret is. */
  onPick?: ((expression: string) => void) | undefined;
  children: ReactNode;
}

export interface NowProps {
  id: string;
  value: unknown;
  here: ValuesHere;
  /** Names are being completed: faults of what is typed so far say nothing. */
  isTyping: boolean;
}

export interface FillProps {
  values: Values;
  inputs: readonly { key: string }[];
  /** Those that are given already. */
  value: Readonly<Record<string, unknown>>;
  onChange: (value: Readonly<Record<string, unknown>>) => void;
}

/** JSON Schema. */
type Schema = Readonly<Record<string, unknown>>;

/** The values that fields of a step can name. */
export interface ValuesHere {
  values: Values;
  /** Whether the workflow has been tested: values are then known. */
  isTested: boolean;
  /** Reads the outputs of steps that were too large to come with the test. */
  onNeed: (steps: readonly string[]) => void;
  /** Draws what a field has beside it. It comes with the values, so that other forms do without its code. */
  Field: ComponentType<FieldProps & { here: ValuesHere }>;
  /** Whether a text is an example that a person has not touched: a chosen value comes in its place. */
  isSample?: (text: string) => boolean;
  /** Draws the present value of a field; absent: `NowLine`. */
  Now?: ComponentType<NowProps>;
  /** Draws what fills inputs with values of the same names; absent: nothing does. */
  Fill?: ComponentType<FillProps>;
  /** How items of a few fields stand in one line; absent: each field has its help. */
  line?: { bare: (items: Schema) => Schema | undefined; Help: ComponentType<{ of: Schema }> };
}

/** For all fields within that take templates or code; absent where none can be named. */
export const ValuesOfStep = createContext<ValuesHere | undefined>(undefined);

export interface ValuesOfField {
  values: Values;
  syntax: Syntax;
}

/** For the editor of code within a field. */
export const ValuesInField = createContext<ValuesOfField | undefined>(undefined);

/** The event by which a value is put into an editor of code; its detail is the path of the value. */
export const INSERT = 'insert-value';
