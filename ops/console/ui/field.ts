/** A value that a person enters. */
export interface Field {
  key: string;
  label: string;
  kind: 'text' | 'number' | 'checkbox' | 'json';
  isRequired?: boolean;
  placeholder?: string;
  description?: string;
  initial?: unknown;
}
