import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it reads a sealed answer as one that is done and was not kept. */
export class Migration20261122110000_SealedAnswers extends Migration {
  override up(): void {
    this.addSql('alter table idempotency add column sealed text');
  }
}
