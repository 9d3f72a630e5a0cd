"""Which source word belongs to which target word: links and their quality, and a statistical aligner to compare with.

links          Pharaoh format, links read off attention, alignment error rate
words          a text as the words that links count
cooccurrence   a parallel corpus as word pairs
ibm1, hmm      two models of where target words come from
symmetrise     two one-way alignments made into one
statistical    all of that in one function: sentence pairs in, links out

None of it needs torch.
"""
