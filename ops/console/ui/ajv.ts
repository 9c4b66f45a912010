import { type Schema, Validator } from '@cfworker/json-schema';

/**
 * The module that JSON Forms imports as ajv, see `build-console.ts`. The real ajv compiles schemas by `new Function`, which the policy of the
 * console refuses, and does not know the draft that the API names. Only the conditions of rules are checked here.
 */
// biome-ignore lint/style/noDefaultExport: JSON Forms imports the class as the default
export default class Ajv {
  readonly #validators = new WeakMap<object, Validator>();

  /** A field without a value is read as null. A schema that cannot be read holds for no value. */
  validate(schema: Schema, value: unknown): boolean {
    try {
      const validator = this.#validators.get(schema) ?? new Validator(schema, '2020-12');
      this.#validators.set(schema, validator);
      return validator.validate(value ?? null).valid;
    } catch {
      return false;
    }
  }
}
