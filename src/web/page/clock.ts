/** The time as signals: what shows it is drawn again, and nothing else. */
import { signal } from '@preact/signals';

/** Each second, while the page is visible. */
export const now = signal(Date.now());
/** Every fifteen seconds: for times such as `3 min ago`. */
export const slowNow = signal(Date.now());

export function startClock(): void {
  const tick = () => {
    if (document.hidden) return;
    now.value = Date.now();
    if (now.value - slowNow.value >= 15_000) slowNow.value = now.value;
  };
  setInterval(tick, 1000);
  addEventListener('visibilitychange', tick);
}
