import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it counts no wrong codes. */
export class Migration20261129104500_WrongCodes extends Migration {
  override up(): void {
    this.addSql('alter table sign_in_account add column wrong_codes integer not null default 0');
  }
}
