//! Confirmations before something that spends money: what starts, replaces or bills an agent is confirmed first, unless the
//! button that was clicked names it already.

export interface Confirmation {
  title: string;
  /** What will happen, one paragraph each. Names the agent and the brief. */
  paragraphs: string[];
  /** What it is about, one line each. */
  list?: string[];
  /** The button that confirms. Names what it starts. */
  verb: string;
}

class Confirmations {
  open = $state.raw<Confirmation>();
  private settle: ((confirmed: boolean) => void) | undefined;

  /** Whether the operator confirms it. An open question stays: what is under the pointer does not change its meaning. */
  ask(question: Confirmation): Promise<boolean> {
    if (this.open) return Promise.resolve(false);
    this.open = question;
    return new Promise((settle) => (this.settle = settle));
  }

  answer(confirmed: boolean): void {
    const settle = this.settle;
    this.settle = this.open = undefined;
    settle?.(confirmed);
  }
}

export const confirmations = new Confirmations();
