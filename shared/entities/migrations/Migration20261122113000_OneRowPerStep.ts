import { Migration } from '@mikro-orm/migrations';

/**
 * Old code can run beside it. Its gateways do not see the starts in new rows but those in messages; its workers count an interrupted
 * attempt of such a node as none.
 */
export class Migration20261122113000_OneRowPerStep extends Migration {
  override up(): void {
    // Nodes that the outcome has started; the row is stored under the number of the last.
    this.addSql('alter table run_event add column started jsonb');
    // The fence guarantees it: a commit of another holder changes nothing. It cost a fifth of a step.
    this.addSql('drop index run_event_success');
  }
}
