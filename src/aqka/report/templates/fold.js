"use strict";
// On a narrow screen long tables begin folded; on paper everything is open.
(() => {
  const folds = document.querySelectorAll("details.folds");
  if (window.innerWidth < 600) for (const one of folds) one.open = false;
  // A word's link opens the glossary that its meaning is folded in.
  const unfold = () => {
    const fold = document.getElementById(location.hash.slice(1))?.closest("details");
    if (fold) fold.open = true;
  };
  window.addEventListener("hashchange", unfold);
  unfold();
  window.addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details")) one.open = true;
  });
})();
